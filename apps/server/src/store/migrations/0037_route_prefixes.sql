DROP INDEX "run_route";--> statement-breakpoint
CREATE INDEX "run_route" ON "run" USING btree ("owner","route_id" text_pattern_ops,"owner_ordinal");
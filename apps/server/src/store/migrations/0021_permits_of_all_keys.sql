DROP INDEX "permit_opened_at";--> statement-breakpoint
CREATE INDEX "permit_state_opened" ON "permit" USING btree ("state","opened_at","permit_id");--> statement-breakpoint
CREATE INDEX "permit_owner_opened" ON "permit" USING btree ("owner","opened_at","permit_id");
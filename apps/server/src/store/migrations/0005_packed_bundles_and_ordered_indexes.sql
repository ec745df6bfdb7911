DROP INDEX "run_manifest_hash";--> statement-breakpoint
DROP INDEX "run_program";--> statement-breakpoint
DROP INDEX "run_route";--> statement-breakpoint
DROP INDEX "run_created";--> statement-breakpoint
DROP INDEX "run_refused";--> statement-breakpoint
-- The service compresses bundles. Those that are there stand as they are, behind a first byte of 0 (bundle-text.ts).
ALTER TABLE "run" ALTER COLUMN "bundle" SET DATA TYPE bytea USING '\x00'::bytea || convert_to("bundle", 'UTF8');--> statement-breakpoint
-- What is compressed is not compressed again.
ALTER TABLE "run" ALTER COLUMN "bundle" SET STORAGE EXTERNAL;--> statement-breakpoint
CREATE INDEX "run_manifest_hash" ON "run" USING btree ("owner","manifest_hash" text_pattern_ops,"owner_ordinal");--> statement-breakpoint
CREATE INDEX "run_program" ON "run" USING btree ("owner","program_id","owner_ordinal");--> statement-breakpoint
CREATE INDEX "run_route" ON "run" USING btree ("owner","route_id","owner_ordinal");--> statement-breakpoint
CREATE INDEX "run_created" ON "run" USING btree ("owner","created_at","owner_ordinal");--> statement-breakpoint
CREATE INDEX "run_refused" ON "run" USING btree ("owner","outcome_kind","owner_ordinal") WHERE "run"."outcome_kind" <> 'ok';--> statement-breakpoint
-- Rows are only ever added: a vacuum that follows soon marks their pages visible to all, and counts need no look at them. The
-- usual share of a fifth of the table would be hundreds of thousands of rows.
ALTER TABLE "run" SET (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 10000, autovacuum_analyze_scale_factor = 0.02);

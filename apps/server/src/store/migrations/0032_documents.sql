CREATE TABLE "document" (
	"log_index" bigint PRIMARY KEY NOT NULL,
	"owner" bigint NOT NULL,
	"chain_ordinal" bigint NOT NULL,
	"kind" text NOT NULL,
	"instant" bigint NOT NULL,
	"leaf_digest" text NOT NULL,
	"packed" "bytea" NOT NULL
);
--> statement-breakpoint
-- What is packed is not compressed again. Rows are only ever added, as those of runs are.
ALTER TABLE "document" ALTER COLUMN "packed" SET STORAGE EXTERNAL;--> statement-breakpoint
ALTER TABLE "document" SET (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 10000, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
-- A run's place is that of the entry whose hash is the digest of its leaf.
INSERT INTO "document"
SELECT "log_entry"."log_index", "owner", "chain_ordinal", 'bundle', "created_at", "leaf_digest", "bundle"
FROM "run" JOIN "log_entry" ON "log_entry"."body"::json #>> '{spec,data,hash,value}' = "leaf_digest";--> statement-breakpoint
INSERT INTO "document"
SELECT "log_index", "owner", "chain_ordinal", 'opening', "opened_at", "leaf_digest", "opening"
FROM "permit" WHERE "chain_ordinal" > 0;--> statement-breakpoint
INSERT INTO "document"
SELECT "log_index", "owner", "chain_ordinal", 'permit_end', "ended_at", "leaf_digest", "document"
FROM "permit_end";--> statement-breakpoint
INSERT INTO "document"
SELECT "log_index", -1, "ordinal", 'admin_event', "sealed_at", "leaf_digest", "document"
FROM "admin_event" WHERE "sealed_at" > 0;--> statement-breakpoint
-- As a text that is not packed.
INSERT INTO "document"
SELECT "log_index", "owner", 0, 'attestation', "created_at", "body"::json #>> '{spec,data,hash,value}',
	'\x00'::bytea || convert_to("document", 'UTF8')
FROM "attestation" JOIN "log_entry" USING ("log_index");--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "log_index" bigint;--> statement-breakpoint
UPDATE "run" SET "log_index" = "document"."log_index" FROM "document"
WHERE "document"."owner" = "run"."owner" AND "document"."chain_ordinal" = "run"."chain_ordinal";--> statement-breakpoint
ALTER TABLE "run" ALTER COLUMN "log_index" SET NOT NULL;--> statement-breakpoint
DROP TABLE "permit_end" CASCADE;--> statement-breakpoint
ALTER TABLE "run" DROP CONSTRAINT "run_chain_ordinal";--> statement-breakpoint
DROP INDEX "permit_chain_ordinal";--> statement-breakpoint
DROP INDEX "permit_opened";--> statement-breakpoint
DROP INDEX "permit_log_index";--> statement-breakpoint
CREATE UNIQUE INDEX "document_chain" ON "document" USING btree ("owner","chain_ordinal") WHERE "document"."chain_ordinal" > 0;--> statement-breakpoint
CREATE INDEX "document_instant" ON "document" USING btree ("owner","instant","chain_ordinal") WHERE "document"."chain_ordinal" > 0;--> statement-breakpoint
CREATE INDEX "document_other" ON "document" USING btree ("owner","kind","chain_ordinal") WHERE "document"."kind" <> 'bundle';--> statement-breakpoint
ALTER TABLE "admin_event" DROP COLUMN "leaf_digest";--> statement-breakpoint
ALTER TABLE "admin_event" DROP COLUMN "document";--> statement-breakpoint
ALTER TABLE "attestation" DROP COLUMN "document";--> statement-breakpoint
ALTER TABLE "permit" DROP COLUMN "chain_ordinal";--> statement-breakpoint
ALTER TABLE "permit" DROP COLUMN "leaf_digest";--> statement-breakpoint
ALTER TABLE "permit" DROP COLUMN "opening";--> statement-breakpoint
ALTER TABLE "run" DROP COLUMN "chain_ordinal";--> statement-breakpoint
ALTER TABLE "run" DROP COLUMN "leaf_digest";--> statement-breakpoint
ALTER TABLE "run" DROP COLUMN "bundle";--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_log_index" UNIQUE("log_index");

CREATE TABLE "admin_event" (
	"ordinal" bigint PRIMARY KEY NOT NULL,
	"event_at" bigint NOT NULL,
	"actor" text NOT NULL,
	"actor_name" text NOT NULL,
	"action" text NOT NULL,
	"subject_kind" text NOT NULL,
	"subject_id" text NOT NULL,
	"before" text NOT NULL,
	"after" text NOT NULL,
	"sealed_at" bigint NOT NULL,
	"log_index" bigint NOT NULL,
	"leaf_digest" text NOT NULL,
	"document" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "outcome_count" (
	"owner" bigint NOT NULL,
	"outcome_kind" text NOT NULL,
	"runs" bigint NOT NULL,
	CONSTRAINT "outcome_count_owner_outcome_kind_pk" PRIMARY KEY("owner","outcome_kind")
);
--> statement-breakpoint
ALTER TABLE "api_key" DROP CONSTRAINT "api_key_scope";--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "created_by" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "revoked_by" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "rotated_at" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "old_secret_hash" "bytea" DEFAULT ''::bytea NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "overlap_until" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "notes" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "expires_at" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "run_token_budget" bigint DEFAULT -1 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "window_token_budget" bigint DEFAULT -1 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "rate_limit" bigint DEFAULT -1 NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "reads" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "api_key_old_secret" ON "api_key" USING btree ("old_secret_hash") WHERE octet_length("api_key"."old_secret_hash") = 32;--> statement-breakpoint
CREATE INDEX "permit_opened_at" ON "permit" USING btree ("opened_at","permit_id");--> statement-breakpoint
CREATE INDEX "run_owner" ON "run" USING btree ("owner","run_id");--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_old_secret_hash" CHECK (octet_length("api_key"."old_secret_hash") in (0, 32));--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_scope" CHECK ("api_key"."scope" in ('admin', 'customer', 'auditor'));--> statement-breakpoint
INSERT INTO "outcome_count" SELECT "owner", "outcome_kind", count(*) FROM "run" GROUP BY "owner", "outcome_kind";
CREATE TABLE "permit_end" (
	"owner" bigint NOT NULL,
	"chain_ordinal" bigint NOT NULL,
	"leaf_digest" text NOT NULL,
	"log_index" bigint NOT NULL,
	"ended_at" bigint NOT NULL,
	"document" "bytea" NOT NULL,
	CONSTRAINT "permit_end_owner_chain_ordinal_pk" PRIMARY KEY("owner","chain_ordinal")
);
--> statement-breakpoint
CREATE TABLE "permit" (
	"permit_id" text PRIMARY KEY NOT NULL,
	"owner" bigint NOT NULL,
	"owner_ordinal" bigint NOT NULL,
	"state" text NOT NULL,
	"program_id" text NOT NULL,
	"route_id" text NOT NULL,
	"audience" text NOT NULL,
	"charge_id" text NOT NULL,
	"window_seconds" bigint NOT NULL,
	"window_start" bigint NOT NULL,
	"cap" bigint NOT NULL,
	"reserved" bigint NOT NULL,
	"opened_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"close_by" bigint NOT NULL,
	"due_at" bigint NOT NULL,
	"redeem_required" boolean NOT NULL,
	"redeemed_at" bigint NOT NULL,
	"run_id" bigint NOT NULL,
	"end_ordinal" bigint NOT NULL,
	"chain_ordinal" bigint NOT NULL,
	"leaf_digest" text NOT NULL,
	"log_index" bigint NOT NULL,
	"opening_hash" text NOT NULL,
	"opening" "bytea" NOT NULL,
	"disclosure_seed" "bytea" NOT NULL,
	CONSTRAINT "permit_owner_ordinal" UNIQUE("owner","owner_ordinal")
);
--> statement-breakpoint
CREATE TABLE "token_movement" (
	"charge_id" text NOT NULL,
	"kind" text NOT NULL,
	"tenant_id" text NOT NULL,
	"window_seconds" bigint NOT NULL,
	"window_start" bigint NOT NULL,
	"ordinal" bigint NOT NULL,
	"tokens" bigint NOT NULL,
	"total_after" bigint NOT NULL,
	"moved_at" bigint NOT NULL,
	CONSTRAINT "token_movement_charge_id_kind_pk" PRIMARY KEY("charge_id","kind")
);
--> statement-breakpoint
ALTER TABLE "token_charge" DISABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP TABLE "token_charge" CASCADE;--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "chain_ordinal" bigint NOT NULL;--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "permit_id" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "closing_outcome" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "tenant_window" ADD COLUMN "movements" bigint NOT NULL;--> statement-breakpoint
ALTER TABLE "tenant" ADD COLUMN "run_count" bigint NOT NULL;--> statement-breakpoint
CREATE INDEX "permit_end_ended" ON "permit_end" USING btree ("owner","ended_at","chain_ordinal");--> statement-breakpoint
CREATE INDEX "permit_state" ON "permit" USING btree ("owner","state","owner_ordinal");--> statement-breakpoint
CREATE UNIQUE INDEX "permit_chain_ordinal" ON "permit" USING btree ("owner","chain_ordinal") WHERE "permit"."chain_ordinal" > 0;--> statement-breakpoint
CREATE INDEX "permit_opened" ON "permit" USING btree ("owner","opened_at","chain_ordinal") WHERE "permit"."chain_ordinal" > 0;--> statement-breakpoint
CREATE INDEX "permit_run" ON "permit" USING btree ("owner","run_id") WHERE "permit"."run_id" > 0;--> statement-breakpoint
CREATE INDEX "permit_due" ON "permit" USING btree ("due_at","reserved") WHERE "permit"."state" = 'open';--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_chain_ordinal" UNIQUE("owner","chain_ordinal");
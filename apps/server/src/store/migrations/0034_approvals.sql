CREATE TABLE "approval" (
	"approval_id" text PRIMARY KEY NOT NULL,
	"owner" bigint NOT NULL,
	"tenant_id" text NOT NULL,
	"log_index" bigint NOT NULL,
	"state" text NOT NULL,
	"requested_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"request_hash" text NOT NULL,
	"seed" text NOT NULL,
	"program_id" text NOT NULL,
	"route_id" text NOT NULL,
	"audience" text NOT NULL,
	"end_user_subject" text NOT NULL,
	"end_user_issuer" text NOT NULL,
	"needed" text NOT NULL,
	"groups" text NOT NULL,
	"act_digest" text NOT NULL,
	"payload" "bytea" NOT NULL,
	"payload_key_day" bigint NOT NULL,
	"decisions" bigint NOT NULL,
	"permit_id" text NOT NULL,
	"run_id" bigint NOT NULL,
	"ended_at" bigint NOT NULL,
	CONSTRAINT "approval_ended" CHECK (("approval"."ended_at" > 0) = ("approval"."state" in ('collected', 'refused'))),
	CONSTRAINT "approval_payload_gone" CHECK ("approval"."ended_at" = 0 or octet_length("approval"."payload") = 0)
);
--> statement-breakpoint
CREATE TABLE "approval_decision" (
	"approval_id" text NOT NULL,
	"subject" text NOT NULL,
	"issuer" text NOT NULL,
	"name" text NOT NULL,
	"key_name" text NOT NULL,
	"groups" text NOT NULL,
	"proof" text NOT NULL,
	"decision" text NOT NULL,
	"decided_at" bigint NOT NULL,
	"comment" text NOT NULL,
	"comment_salt" text NOT NULL,
	CONSTRAINT "approval_decision_approval_id_subject_pk" PRIMARY KEY("approval_id","subject"),
	CONSTRAINT "approval_decision_decision" CHECK ("approval_decision"."decision" in ('approve', 'reject'))
);
--> statement-breakpoint
ALTER TABLE "api_key" DROP CONSTRAINT "api_key_scope";--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "person" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "groups" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "persons" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX "approval_requested" ON "approval" USING btree ("requested_at","approval_id");--> statement-breakpoint
CREATE INDEX "approval_owner_requested" ON "approval" USING btree ("owner","requested_at","approval_id");--> statement-breakpoint
CREATE INDEX "approval_act" ON "approval" USING btree ("act_digest");--> statement-breakpoint
CREATE INDEX "approval_due" ON "approval" USING btree ("expires_at") WHERE "approval"."ended_at" = 0;--> statement-breakpoint
CREATE INDEX "approval_open_owner" ON "approval" USING btree ("owner") WHERE "approval"."ended_at" = 0;--> statement-breakpoint
CREATE INDEX "approval_open_end_user" ON "approval" USING btree ("end_user_subject") WHERE "approval"."ended_at" = 0;--> statement-breakpoint
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_scope" CHECK ("api_key"."scope" in ('admin', 'customer', 'auditor', 'approver'));
CREATE TABLE "destination" (
	"destination_id" bigint PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"url" text NOT NULL,
	"name" text NOT NULL,
	"format" text NOT NULL,
	"types" text NOT NULL,
	"outcomes" text NOT NULL,
	"key_ids" text NOT NULL,
	"active" boolean NOT NULL,
	"secret_salt" text NOT NULL,
	"previous_salt" text NOT NULL,
	"previous_until" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	"created_by" bigint NOT NULL,
	"deleted_at" bigint NOT NULL,
	"position" bigint NOT NULL,
	"delivered_at" bigint NOT NULL,
	"failures" bigint NOT NULL,
	"fault" text NOT NULL,
	"fault_status" bigint NOT NULL,
	"failing_since" bigint NOT NULL,
	"next_try_at" bigint NOT NULL,
	"holder" text NOT NULL,
	"lease_until" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "permit_end_log_index" ON "permit_end" USING btree ("log_index");--> statement-breakpoint
CREATE INDEX "permit_log_index" ON "permit" USING btree ("log_index") WHERE "permit"."chain_ordinal" > 0;
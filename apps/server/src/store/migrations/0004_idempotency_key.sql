CREATE TABLE "idempotency_key" (
	"key_hash" text PRIMARY KEY NOT NULL,
	"request_digest" text NOT NULL,
	"charge_id" text NOT NULL,
	"record_id" text NOT NULL,
	"kept_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "idempotency_key_kept" ON "idempotency_key" USING btree ("kept_at");
CREATE TABLE "share" (
	"share_id" bigint PRIMARY KEY NOT NULL,
	"run_id" bigint NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"made_by" bigint NOT NULL,
	"made_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"revoked_at" bigint NOT NULL,
	CONSTRAINT "share_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
ALTER TABLE "api_key" ADD COLUMN "share" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "share_run" ON "share" USING btree ("run_id");
CREATE TABLE "passkey" (
	"passkey_id" text PRIMARY KEY NOT NULL,
	"credential_id" text NOT NULL,
	"issuer" text NOT NULL,
	"subject" text NOT NULL,
	"public_key" text NOT NULL,
	"origin" text NOT NULL,
	"rp_id" text NOT NULL,
	"name" text NOT NULL,
	"enrolled_at" bigint NOT NULL,
	"counts_from" bigint NOT NULL,
	"confirmed_issuer" text NOT NULL,
	"confirmed_subject" text NOT NULL,
	"revoked_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "approval_decision" ADD COLUMN "comment_hash" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "approval_decision" ADD COLUMN "passkey" text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX "passkey_person" ON "passkey" USING btree ("issuer","subject","enrolled_at");--> statement-breakpoint
CREATE INDEX "passkey_enrolled" ON "passkey" USING btree ("enrolled_at");
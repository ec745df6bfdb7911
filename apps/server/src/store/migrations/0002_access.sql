CREATE TABLE "api_key" (
	"key_id" bigint PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"scope" text NOT NULL,
	"tier" text NOT NULL,
	"created_at" bigint NOT NULL,
	"last_used_at" bigint NOT NULL,
	"revoked_at" bigint NOT NULL,
	CONSTRAINT "api_key_secret_hash_unique" UNIQUE("secret_hash"),
	CONSTRAINT "api_key_secret_hash" CHECK (octet_length("api_key"."secret_hash") = 32),
	CONSTRAINT "api_key_scope" CHECK ("api_key"."scope" in ('admin', 'customer')),
	CONSTRAINT "api_key_tier" CHECK ("api_key"."tier" in ('trial', 'production'))
);
--> statement-breakpoint
CREATE TABLE "attestation" (
	"attestation_id" text PRIMARY KEY NOT NULL,
	"owner" bigint NOT NULL,
	"owner_ordinal" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	"digest" text NOT NULL,
	"log_index" bigint NOT NULL,
	"document" text NOT NULL,
	CONSTRAINT "attestation_owner_ordinal" UNIQUE("owner","owner_ordinal")
);
--> statement-breakpoint
CREATE TABLE "publication" (
	"run_id" bigint PRIMARY KEY NOT NULL,
	"token" text NOT NULL,
	"published_at" bigint NOT NULL,
	CONSTRAINT "publication_token_unique" UNIQUE("token")
);
--> statement-breakpoint
CREATE TABLE "request_window" (
	"bucket" text PRIMARY KEY NOT NULL,
	"window_start" bigint NOT NULL,
	"requests" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "trial_admission" (
	"admission_id" text PRIMARY KEY NOT NULL,
	"key_id" bigint NOT NULL,
	"admitted_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "request_window_start" ON "request_window" USING btree ("window_start");--> statement-breakpoint
CREATE INDEX "trial_admission_key" ON "trial_admission" USING btree ("key_id","admitted_at");
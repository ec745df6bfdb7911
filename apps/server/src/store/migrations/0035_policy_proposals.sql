CREATE TABLE "policy_proposal" (
	"document_hash" text PRIMARY KEY NOT NULL,
	"document" text NOT NULL,
	"policy_id" text NOT NULL,
	"policy_name" text NOT NULL,
	"policy_hash" text NOT NULL,
	"source" text NOT NULL,
	"actor" text NOT NULL,
	"actor_name" text NOT NULL,
	"actor_issuer" text NOT NULL,
	"actor_subject" text NOT NULL,
	"proposed_at" bigint NOT NULL
);

CREATE TABLE "policy_version" (
	"version" bigint PRIMARY KEY NOT NULL,
	"policy_id" text NOT NULL,
	"policy_name" text NOT NULL,
	"policy_hash" text NOT NULL,
	"active_since" bigint NOT NULL,
	"source" text NOT NULL,
	"actor" text NOT NULL,
	"actor_name" text NOT NULL,
	"document" text NOT NULL
);

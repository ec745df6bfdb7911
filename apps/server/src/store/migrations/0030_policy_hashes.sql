CREATE TABLE "policy_hash" (
	"policy_hash" text PRIMARY KEY NOT NULL,
	"version" bigint NOT NULL
);
--> statement-breakpoint
INSERT INTO "policy_hash" SELECT "policy_hash", max("version") FROM "policy_version" GROUP BY "policy_hash";

CREATE TABLE "run_claim" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"key_id" bigint NOT NULL,
	"claimed_by" bigint NOT NULL,
	"claimed_at" bigint NOT NULL
);

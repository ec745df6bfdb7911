CREATE TABLE "witnessed_checkpoint" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"size" bigint NOT NULL,
	"checkpoint" text NOT NULL,
	CONSTRAINT "witnessed_checkpoint_one_row" CHECK ("witnessed_checkpoint"."only")
);

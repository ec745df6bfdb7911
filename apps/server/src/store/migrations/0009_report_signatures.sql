CREATE TABLE "repeated_signature" (
	"digest" text PRIMARY KEY NOT NULL,
	"signature" "bytea" NOT NULL
);

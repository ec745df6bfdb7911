/**
 * The signatures of the library that the service ships, by severity, without their patterns: what a finding under its hash may
 * say. A test of the service holds this table against the library.
 */
import type { McdSeverity } from "./decision-codes.ts"

/** Digest of the shipped library. */
export const SHIPPED_LIBRARY_HASH = "fa47740af73dc798f4a8465fea25c257a53d1dfa654f3cf9c2b45c4b8339007e"

const SHIPPED: Readonly<Record<McdSeverity, string>> = {
  low: "DA-022",
  medium: "DA-018 FE-017 PI-018 PI-019 SC-006 SC-007 SC-013",
  high: `DA-006 DA-009 DA-011 DA-014 DA-017 DA-019 DA-020 FE-001 FE-002 FE-005 FE-006 FE-008 FE-009 FE-013
    FE-014 FE-016 FE-018 FE-019 FE-020 FE-021 PI-001 PI-002 PI-003 PI-004 PI-005 PI-007 PI-008 PI-009
    PI-010 PI-011 PI-013 PI-015 PI-016 PI-017 SC-003 SC-014 SC-017 SC-018`,
  critical: `DA-001 DA-002 DA-003 DA-004 DA-005 DA-007 DA-008 DA-010 DA-012 DA-013 DA-015 DA-016 DA-021 FE-003
    FE-004 FE-007 FE-010 FE-011 FE-012 FE-015 PI-006 PI-012 PI-014 PI-020 SC-001 SC-002 SC-004 SC-005
    SC-008 SC-009 SC-010 SC-011 SC-012 SC-015 SC-016`,
}

const severities = new Map<string, McdSeverity>()
for (const severity of ["low", "medium", "high", "critical"] as const)
  for (const id of SHIPPED[severity].split(/\s+/)) severities.set(`MCD-${id}`, severity)

/** Severity of each signature of the shipped library, by id. */
export const SHIPPED_SEVERITIES: ReadonlyMap<string, McdSeverity> = severities

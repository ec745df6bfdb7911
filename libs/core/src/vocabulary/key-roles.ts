/** What a key signs: leaves, entries and their checkpoints, or the public checkpoint. */
export const KEY_ROLES = ["service", "log", "checkpoint"] as const

export type KeyRole = (typeof KEY_ROLES)[number]

import { type Scan, scanSource } from "./scan-source.ts"

/** A file of the repository, its path relative to the root and with forward slashes. */
export interface SourceFile extends Scan {
  readonly path: string
  readonly text: string
}

/** One broken rule. `line` counts from 1. */
export interface Violation {
  readonly path: string
  readonly line: number
  readonly rule: string
}

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, ...scanSource(text) }
}

/** Tests and files that only tests use. */
export function isTest(path: string): boolean {
  return /\.test\.ts$|(?:^|\/)(?:test|spec)\/|^lab\/src\/(?:faults|simulation)\//.test(path)
}

/** Whether `path` is `place` itself or lies in that folder. */
export function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`)
}

/** `path:line rule`, the form editors link. */
export function printViolation(violation: Violation): string {
  return `${violation.path}:${violation.line} ${violation.rule}`
}

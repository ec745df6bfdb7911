import { posix } from "node:path"
import { PACKAGE_RULES, type PackageRule } from "./package-rules.ts"
import { HOUSES, PACKAGE_SOURCES, ROOMS, type Room } from "./rooms.ts"
import { type ImportStatement, lineOf } from "./scan-source.ts"
import { isTest, isWithin, type SourceFile, type Violation } from "./source-file.ts"

/** Every import of `file` from a room that its own room may not import, or of a package that its room may not use. */
export function checkRooms(file: SourceFile): Violation[] {
  if (!HOUSES.some(house => isWithin(file.path, house))) return []
  const room = roomOf(file.path)
  const folder = posix.dirname(file.path)
  if (room === undefined || (room.flat && folder !== room.path)) {
    return [{ path: file.path, line: 1, rule: `room: ${folder} has no row in tools/src/rooms/rooms.ts` }]
  }
  return file.imports.flatMap(statement =>
    [forbiddenRoom(file, room, statement), ...PACKAGE_RULES.map(rule => forbiddenPackage(file, rule, statement))]
      .filter(rule => rule !== undefined)
      .map(rule => ({ path: file.path, line: lineOf(file.text, statement.at), rule })),
  )
}

/** The room a file belongs to: the row with the longest path. */
function roomOf(path: string): Room | undefined {
  return ROOMS.filter(room => isWithin(path, room.path)).sort((a, b) => b.path.length - a.path.length)[0]
}

function forbiddenRoom(file: SourceFile, room: Room, statement: ImportStatement): string | undefined {
  const target = targetOf(file.path, statement.specifier)
  if (target === undefined || roomOf(target) === room) return undefined
  const allowed = isTest(file.path) ? [...room.enters, ...(room.testsEnter ?? []), packageOf(file.path)] : room.enters
  if (allowed.some(place => isWithin(target, place))) return undefined
  return `room: ${room.path} may not enter ${target}`
}

/** Path of the file an import of ours means, without regard to its extension; undefined for packages of others. */
function targetOf(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(importer), specifier)
  const [name, path] = PACKAGE_SOURCES.find(([candidate]) => isWithin(specifier, candidate)) ?? []
  return name === undefined || path === undefined ? undefined : path + specifier.slice(name.length)
}

/** `libs/core` of `libs/core/src/wire/run-summaries.ts`. */
function packageOf(path: string): string {
  return path.split("/", /^(?:tools|lab)\//.test(path) ? 1 : 2).join("/")
}

function forbiddenPackage(file: SourceFile, rule: PackageRule, statement: ImportStatement): string | undefined {
  if (isTest(file.path) || rule.except?.test(file.path) || !rule.modules.test(statement.specifier)) return undefined
  if (rule.names !== undefined && !statement.names.some(name => rule.names?.test(name))) return undefined
  const within = (place: string): boolean => isWithin(file.path, place)
  const welcome = rule.only === undefined ? !rule.never?.some(within) : rule.only.some(within)
  return welcome ? undefined : `package: ${rule.name} (${statement.specifier}) may not be imported here`
}

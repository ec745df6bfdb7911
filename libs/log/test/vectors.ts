import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Public test vectors, stored beside the repository and never copied into it. */
const FOLDER = fileURLToPath(new URL("../../../../shared/vectors/", import.meta.url))

/** Whether a folder of vectors exists. */
export const present = (name: string): boolean => existsSync(`${FOLDER}${name}`)

/** For the title of a suite: says when vectors are missing. */
export const presence = (name: string): string => (present(name) ? "" : " (vectors not present)")

export const readText = (path: string): string => readFileSync(`${FOLDER}${path}`, "utf8")

export const readJson = <T>(path: string): T => JSON.parse(readText(path))

/** Names in a folder. */
export const list = (path: string): readonly string[] => readdirSync(`${FOLDER}${path}`).sort()

/** Paths of all JSON files below a folder. */
export function walk(path: string): readonly string[] {
  return list(path).flatMap(name => {
    const below = `${path}/${name}`
    if (statSync(`${FOLDER}${below}`).isDirectory()) return walk(below)
    return name.endsWith(".json") ? [below] : []
  })
}

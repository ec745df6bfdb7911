import { inflateSync } from "node:zlib"
import { expect, test } from "vitest"
import { indexedPng, readPixmap } from "./indexed-png.ts"

const pixmap = (width: number, height: number, rgb: readonly number[]): Uint8Array =>
  Buffer.concat([Buffer.from(`P6\n${width} ${height}\n255\n`), Buffer.from(rgb)])

test("a pixmap is read as it is, and what is none is refused", () => {
  expect(readPixmap(pixmap(2, 1, [1, 2, 3, 10, 32, 255]))).toMatchObject({ width: 2, height: 1 })
  expect(() => readPixmap(pixmap(2, 2, [1, 2, 3]))).toThrow()
  expect(() => readPixmap(Buffer.from("P5 1 1 255 x"))).toThrow()
})

test("a picture keeps its size, its white and where its colours stand", () => {
  const png = indexedPng(readPixmap(pixmap(2, 2, [255, 255, 255, 0, 0, 0, 255, 255, 255, 255, 255, 255])))
  expect(png.readUInt32BE(16)).toBe(2)
  expect(png.readUInt32BE(20)).toBe(2)
  const at = (type: string): number => png.indexOf(type) + 4
  expect([...png.subarray(at("PLTE"), at("PLTE") + 6)]).toEqual([255, 255, 255, 0, 0, 0])
  const length = png.readUInt32BE(png.indexOf("IDAT") - 4)
  expect([...inflateSync(png.subarray(at("IDAT"), at("IDAT") + length))]).toEqual([0, 0, 1, 0, 0, 0])
})

test("more colours than a palette holds become their nearest", () => {
  const rgb = Array.from({ length: 16 * 64 }, (_, i) => [(i % 16) * 17, Math.floor(i / 16) * 4, 128]).flat()
  const png = indexedPng(readPixmap(pixmap(16, 64, rgb)))
  expect(png.readUInt32BE(png.indexOf("PLTE") - 4)).toBeLessThanOrEqual(256 * 3)
})

// SPDX-License-Identifier: Apache-2.0
// Rewrites a screenshot as a PNG with a palette of 256 colours, which is a third of the size. Colours that cover most
// of the image stay exact, and so do those unlike any other; the shades of antialiased letters become the nearest of
// them. Reads Chromium's format: 8 bits per channel, not interlaced.

import { crc32, deflateSync, inflateSync } from "node:zlib"

interface Pixels {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each pixel. */
  readonly rgb: Buffer
}

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex")
const COLOURS = 256
/** Chosen because they are unlike the others: a small red figure covers few pixels. */
const UNLIKE = 64
const RGB = 2
const RGBA = 6
const PALETTE = 3

export function smallPng(png: Buffer): Buffer {
  const { width, height, rgb } = pixelsOf(png)
  const counts = new Map<number, number>()
  for (let at = 0; at < rgb.length; at += 3)
    counts.set(rgb.readUIntBE(at, 3), (counts.get(rgb.readUIntBE(at, 3)) ?? 0) + 1)
  const palette = paletteOf(counts)
  const places = new Map([...counts.keys()].map(colour => [colour, nearest(colour, palette)]))
  // Each row begins with its filter type; 0 (none) is best for a palette.
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows[y * (width + 1) + 1 + x] = places.get(rgb.readUIntBE((y * width + x) * 3, 3)) ?? 0
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, PALETTE], 8)
  const colours = Buffer.from(palette.flatMap(colour => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  const parts = [chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(rows, { level: 9 }))]
  return Buffer.concat([SIGNATURE, ...parts, chunk("IEND", Buffer.alloc(0))])
}

function paletteOf(counts: ReadonlyMap<number, number>): readonly number[] {
  const colours = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour)
  const palette = colours.slice(0, COLOURS - UNLIKE)
  const rest = new Map(
    colours.slice(palette.length).map(colour => [colour, distance(colour, palette[nearest(colour, palette)] ?? 0)]),
  )
  while (palette.length < COLOURS && rest.size > 0) {
    const [[next] = [0]] = [...rest].sort(([, a], [, b]) => b - a)
    palette.push(next)
    rest.delete(next)
    for (const [colour, far] of rest) rest.set(colour, Math.min(far, distance(colour, next)))
  }
  return palette
}

function nearest(colour: number, palette: readonly number[]): number {
  let best = 0
  for (const [at, other] of palette.entries())
    if (distance(colour, other) < distance(colour, palette[best] ?? 0)) best = at
  return best
}

function distance(colour: number, other: number): number {
  return [16, 8, 0].reduce((sum, shift) => sum + (((colour >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0)
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}

function pixelsOf(png: Buffer): Pixels {
  const [width, height, kind] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25]]
  if (png[24] !== 8 || (kind !== RGB && kind !== RGBA))
    throw new Error("the screenshot is not an RGB picture of 8 bits")
  const data: Buffer[] = []
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const size = kind === RGB ? 3 : 4
  const raw = unfiltered(inflateSync(Buffer.concat(data)), width * size, height, size)
  const rgb = Buffer.alloc(width * height * 3)
  for (let at = 0; at < width * height; at++) raw.copy(rgb, at * 3, at * size, at * size + 3)
  return { width, height, rgb }
}

/** PNG, section 9: each row is stored as differences from its left, upper and upper left neighbours. */
function unfiltered(rows: Buffer, length: number, height: number, size: number): Buffer {
  const out = Buffer.alloc(length * height)
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (length + 1)] ?? 0
    for (let x = 0; x < length; x++) {
      const a = x < size ? 0 : (out[y * length + x - size] ?? 0)
      const b = y === 0 ? 0 : (out[(y - 1) * length + x] ?? 0)
      const c = x < size || y === 0 ? 0 : (out[(y - 1) * length + x - size] ?? 0)
      const from = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter] ?? 0
      out[y * length + x] = (rows[y * (length + 1) + 1 + x] ?? 0) + from
    }
  }
  return out
}

function paeth(a: number, b: number, c: number): number {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)]
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c
}

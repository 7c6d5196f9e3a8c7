// SPDX-License-Identifier: Apache-2.0
// Compares a page with its screenshot: the background of each area and how much is drawn there, not letters, because
// fonts differ between machines and times and counts between runs. Chromium decodes the images.

import type { Page } from "playwright-core"

interface Box {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** What an image shows in a box. */
interface Look {
  /** The most frequent colour. */
  readonly ground: readonly [number, number, number]
  /** The share that clearly has another colour, from 0 to 1. */
  readonly ink: number
}

/** Parts of the page that users see as units. */
const PARTS = ".top, main section, .figures, .decisions, .panel, .yaml, .beside, .drawing, main table"
/** Besides those, the image is divided into tiles, to find missing parts. */
const TILE = { width: 320, height: 200 }
/** Per channel, of 255. */
const GROUND_TOLERANCE = 5
/** Letters of another font cover more or less area, but not by this factor. */
const INK_FACTOR = 2.2
/** Less is ignored: a time, a count, a line of text that wraps differently. */
const LEAST_INK = 0.006

const BOXES = `[...document.querySelectorAll(${JSON.stringify(PARTS)})].map(part => {
  const { x, y, width, height } = part.getBoundingClientRect()
  const label = document.getElementById(part.getAttribute("aria-labelledby") ?? "")?.textContent
  return { name: label ?? part.getAttribute("aria-label") ?? (part.className || part.tagName), x, y, width, height }
})`

const LOOKS = `async ({ pictures, boxes }) => {
  const looksOf = async picture => {
    const image = new Image()
    image.src = "data:image/png;base64," + picture
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height)
    const context = canvas.getContext("2d", { willReadFrequently: true })
    context.drawImage(image, 0, 0)
    return boxes.map(({ x, y, width, height }) => {
      const { data } = context.getImageData(x, y, width, height)
      const colours = new Map()
      for (let at = 0; at < data.length; at += 4) {
        const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2]
        colours.set(colour, (colours.get(colour) ?? 0) + 1)
      }
      const channels = colour => [colour >> 16, (colour >> 8) & 255, colour & 255]
      let most = 0
      for (const [colour, times] of colours) if (times > (colours.get(most) ?? 0)) most = colour
      const ground = channels(most)
      let drawn = 0
      for (const [colour, times] of colours)
        if (channels(colour).some((channel, at) => Math.abs(channel - ground[at]) > 40)) drawn += times
      return { ground, ink: drawn / (width * height) }
    })
  }
  return Promise.all(pictures.map(looksOf))
}`

/** Describes how the current page differs from its screenshot; empty if it does not. */
export async function differences(page: Page, picture: Buffer): Promise<readonly string[]> {
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 }
  const parts = await page.evaluate<readonly Box[]>(BOXES)
  const boxes = [...parts.flatMap(box => inside(box, width, height)), ...tiles(width, height)]
  const shown = await page.screenshot()
  const pictures = [picture, shown].map(bytes => bytes.toString("base64"))
  // In a separate page, which has no stylesheet and no policy.
  const reader = await page.context().newPage()
  try {
    const received = `(${LOOKS})(${JSON.stringify({ pictures, boxes })})`
    const [then = [], now = []] = await reader.evaluate<readonly (readonly Look[])[]>(received)
    return boxes.flatMap(({ name }, at) => difference(name, then[at], now[at]))
  } finally {
    await reader.close()
  }
}

function inside({ name, ...box }: Box, width: number, height: number): readonly Box[] {
  const [x, y] = [Math.max(0, Math.round(box.x)), Math.max(0, Math.round(box.y))]
  const seen = {
    width: Math.min(width - x, Math.round(box.width)),
    height: Math.min(height - y, Math.round(box.height)),
  }
  // Boxes that are mostly cut off are ignored.
  return seen.width < 40 || seen.height < 40 ? [] : [{ name, x, y, ...seen }]
}

function tiles(width: number, height: number): readonly Box[] {
  const all: Box[] = []
  for (let y = 0; y < height; y += TILE.height)
    for (let x = 0; x < width; x += TILE.width) all.push({ name: `what is at ${x}, ${y}`, x, y, ...TILE })
  return all
}

function difference(name: string, then: Look | undefined, now: Look | undefined): readonly string[] {
  if (then === undefined || now === undefined) return [`${name}: there is nothing to compare`]
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  const found: string[] = []
  if (then.ground.some((channel, at) => Math.abs(channel - (now.ground[at] ?? 0)) > GROUND_TOLERANCE))
    found.push(`${name}: its ground is rgb(${now.ground.join(", ")}), in the picture rgb(${then.ground.join(", ")})`)
  const [less, more] = [Math.min(then.ink, now.ink), Math.max(then.ink, now.ink)]
  if (more > LEAST_INK + less && more > INK_FACTOR * less)
    found.push(`${name}: ${percent(now.ink)} of it is drawn, in the picture ${percent(then.ink)}`)
  return found
}

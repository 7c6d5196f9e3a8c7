// SPDX-License-Identifier: Apache-2.0
// Chromium's accessibility tree of a page, which screen readers use.

import type { Page } from "playwright-core"

interface AxNode {
  readonly nodeId: string
  readonly parentId?: string
  readonly ignored: boolean
  readonly role?: { readonly value?: unknown }
  readonly name?: { readonly value?: unknown }
  readonly properties?: readonly { readonly name: string; readonly value: { readonly value?: unknown } }[]
}

const LANDMARKS = ["banner", "main"]
/** Roles of controls and images, which need a name. */
const NAMED = [
  "button",
  "link",
  "textbox",
  "searchbox",
  "combobox",
  "checkbox",
  "option",
  "progressbar",
  "image",
  "img",
]
const TABLES = ["table", "grid"]

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "")
const roleOf = ({ role }: AxNode): string => textOf(role?.value)
const nameOf = ({ name }: AxNode): string => textOf(name?.value)
const propertyOf = ({ properties = [] }: AxNode, wanted: string): unknown =>
  properties.find(({ name }) => name === wanted)?.value.value

async function treeOf(page: Page): Promise<readonly AxNode[]> {
  const session = await page.context().newCDPSession(page)
  try {
    const { nodes } = await session.send("Accessibility.getFullAXTree")
    return nodes
  } finally {
    await session.detach()
  }
}

/** The node and its ancestors, from the inside out. */
function* outwards(node: AxNode, byId: ReadonlyMap<string, AxNode>): IterableIterator<AxNode> {
  for (let at: AxNode | undefined = node; at !== undefined; at = byId.get(at.parentId ?? "")) yield at
}

/** What is missing for screen readers; empty for a correct page. */
export async function unreported(page: Page): Promise<readonly string[]> {
  const nodes = await treeOf(page)
  const byId = new Map(nodes.map(node => [node.nodeId, node]))
  const shown = nodes.filter(({ ignored }) => !ignored)
  const counts = [
    ...LANDMARKS.map(role => [`landmark ${role}`, shown.filter(node => roleOf(node) === role).length] as const),
    ["level 1 heading", shown.filter(node => roleOf(node) === "heading" && propertyOf(node, "level") === 1).length],
  ] as const
  const headed = new Set(
    shown
      .filter(node => roleOf(node) === "columnheader" && nameOf(node) !== "")
      .map(node => [...outwards(node, byId)].find(at => TABLES.includes(roleOf(at)))?.nodeId),
  )
  return [
    ...counts.filter(([, many]) => many !== 1).map(([what, many]) => `${many} × ${what}`),
    ...shown
      .filter(node => NAMED.includes(roleOf(node)) && nameOf(node) === "")
      .map(node => `${roleOf(node)} without a name`),
    ...shown
      .filter(node => TABLES.includes(roleOf(node)) && !headed.has(node.nodeId))
      .map(node => `${roleOf(node)} “${nameOf(node)}” without column headers`),
  ]
}

/** How the text is announced when it changes: `polite`, `assertive`, or not at all. */
export async function announcement(page: Page, text: string): Promise<unknown> {
  const nodes = await treeOf(page)
  const byId = new Map(nodes.map(node => [node.nodeId, node]))
  const found = nodes.filter(node => roleOf(node) === "StaticText" && nameOf(node).includes(text))
  for (const node of found)
    for (const at of outwards(node, byId)) {
      const live = propertyOf(at, "live")
      if (live !== undefined && live !== "off") return live
    }
  return undefined
}

// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { COLLAPSED, type Edge } from "./edges.js"
import { type Box, layoutOf } from "./layout.js"

const edge = (from: string, to: string): Edge => ({
  ...{ from, to, allowed: 1, denied: 0, plaintext: 0, isMtls: true, calls: [] },
})
const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
const overlaps = (boxes: readonly Box[]): readonly string[] =>
  boxes.flatMap((a, at) => boxes.slice(at + 1).flatMap(b => (overlap(a, b) ? [`${a.id} ${b.id}`] : [])))

it("draws each service to the right of its callers", () => {
  const calls = [
    ["outside the mesh", "shop/frontend"],
    ["shop/frontend", "shop/cart"],
    ["shop/frontend", "shop/checkout"],
    ["shop/cart", "shop/payment"],
    ["shop/checkout", "shop/payment"],
    ["shop/payment", "shop/ledger"],
  ] as const
  const { services, namespaces } = layoutOf(
    calls.map(([from, to]) => edge(from, to)),
    "LR",
    () => "9 denied",
  )
  const at = new Map(services.map(box => [box.id, box]))
  for (const [from, to] of calls) expect(at.get(from)?.x ?? 0, `${from} ${to}`).toBeLessThan(at.get(to)?.x ?? 0)
  expect(namespaces.map(({ id }) => id)).toEqual(["shop"])
  expect(overlaps(services)).toEqual([])
})

it("wraps a long chain of namespaces into rows, without overlaps", () => {
  const ring = Array.from({ length: 20 }, (_, at) =>
    edge(`${COLLAPSED}team-${at}`, `${COLLAPSED}team-${(at + 1) % 20}`),
  )
  const open = Array.from({ length: 14 }, (_, at) => edge(`team-x/s${at >> 1}`, `team-x/s${at + 1}`))
  const { services, namespaces, width } = layoutOf(
    [...ring, ...open, edge(`${COLLAPSED}team-3`, "team-x/s0")],
    "LR",
    () => "",
  )
  expect(width).toBeLessThanOrEqual(1_500)
  expect(services).toHaveLength(35)
  expect(overlaps(services)).toEqual([])
  expect(overlaps([...namespaces, ...services.filter(({ id }) => id.startsWith(COLLAPSED))])).toEqual([])
})

it("draws no edge behind a service of the namespace that it enters", () => {
  const calls = [
    edge("outside the mesh", "app/web"),
    edge("app/consumer", "app/web"),
    edge("outside the mesh", "foo/httpbin"),
  ]
  const { services, namespaces } = layoutOf(calls, "TB", () => "plaintext")
  const y = (name: string): number => services.find(({ id }) => id === name)?.y ?? 0
  expect(y("app/consumer")).toBe(y("outside the mesh"))
  expect(overlaps(namespaces)).toEqual([])
})

// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { Sessions } from "./sessions.js"

const HOUR = 3_600_000

function rig() {
  let now = 0
  const closed: string[] = []
  const sessions = new Sessions(() => now)
  const open = (user: string) =>
    sessions.open({
      user,
      groups: [],
      api: { send: () => Promise.reject(new Error("nobody asks")), close: async () => void closed.push(user) },
    })
  return { sessions, open, closed, pass: (ms: number) => (now += ms) }
}

it("finds a session by both of its halves", () => {
  const { sessions, open } = rig()
  expect(sessions.find(open("jane"))?.user).toBe("jane")
})

it("finds none by one half, or by halves of two sessions", () => {
  const { sessions, open } = rig()
  const [jane, john] = [open("jane"), open("john")]
  expect(sessions.find({ cookie: jane.cookie, page: "" })).toBeUndefined()
  expect(sessions.find({ cookie: "", page: jane.page })).toBeUndefined()
  expect(sessions.find({ cookie: jane.cookie, page: john.page })).toBeUndefined()
})

it("ends sessions that were unused for an hour or are twelve hours old", () => {
  const { sessions, open, pass } = rig()
  const [idle, busy] = [open("idle"), open("busy")]
  for (let hour = 0; hour < 11.5; hour += 0.5) {
    pass(HOUR / 2)
    expect(sessions.find(busy)?.user).toBe("busy")
  }
  expect(sessions.find(idle)).toBeUndefined()
  pass(HOUR / 2)
  expect(sessions.find(busy)).toBeUndefined()
})

it("ends a session at sign-out, with its requests in progress", () => {
  const { sessions, open, closed } = rig()
  const jane = open("jane")
  sessions.end(jane)
  expect(sessions.find(jane)).toBeUndefined()
  expect(closed).toEqual(["jane"])
})

it("lets no user end another's session", () => {
  const { sessions, open } = rig()
  const jane = open("jane")
  sessions.end({ cookie: jane.cookie, page: "guessed" })
  expect(sessions.find(jane)?.user).toBe("jane")
})

it("keeps the thousand most recently used", () => {
  const { sessions, open } = rig()
  const first = open("first")
  const second = open("second")
  for (let i = 0; i < 998; i++) open(`user-${i}`)
  expect(sessions.find(first)?.user).toBe("first")
  open("one more")
  expect(sessions.find(first)?.user).toBe("first")
  expect(sessions.find(second)).toBeUndefined()
})

it.each([
  ["one person", () => "tenant"],
  ["the service accounts of one namespace", (turn: number) => `system:serviceaccount:tenant:account-${turn}`],
])("is not displaced by sessions of %s", (_, user) => {
  const { sessions, open } = rig()
  const [jane, account] = [open("jane"), open("system:serviceaccount:other:reader")]
  for (let turn = 0; turn < 1_100; turn++) open(user(turn))
  expect(sessions.find(jane)?.user).toBe("jane")
  expect(sessions.find(account)?.user).toBe("system:serviceaccount:other:reader")
})

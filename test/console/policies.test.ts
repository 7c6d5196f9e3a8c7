// SPDX-License-Identifier: Apache-2.0
// Writing policies in the console: errors at their lines, the effect of the change, and its enforcement by proxies.
// @module-tag needs/chromium
// @module-tag needs/kubectl

import { text } from "node:stream/consumers"
import type { Page } from "playwright-core"
import { beforeAll, expect, it } from "vitest"
import { findings } from "./support/axe.js"
import { address, apply, asOwner, complaints, kubectl, SELDOM, tokenOf, withToken } from "./support/visit.js"

const GROUP = "security.merlon.dev"
const ANSWERS = "/apis/answers.merlon.dev/v1alpha1"

interface Change {
  readonly spec: {
    readonly name: string
    readonly operation: string
    readonly difference: { readonly undecided?: string }
    readonly certificate: object
  }
}

const strict = (namespace: string, name: string) => ({
  apiVersion: `${GROUP}/v1alpha3`,
  kind: "PeerAuthentication",
  metadata: { name, namespace },
  spec: { selector: { matchLabels: { app: "nobody" } }, mtls: { mode: "STRICT" } },
})

async function write(page: Page, text: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: "Policy as YAML" })
  await editor.click()
  await page.keyboard.press("ControlOrMeta+a")
  // Inserted as if pasted: the editor would add its own indentation to typed text.
  await page.keyboard.insertText(text)
}

beforeAll(async () => {
  await kubectl("create", "namespace", "writers")
})

it("shows an error at its line with a fix, and disables Apply", async () => {
  const page = await asOwner("/policies/new?template=allow-one&namespace=writers")
  await write(
    page,
    [
      `apiVersion: ${GROUP}/v1alpha3`,
      "kind: AuthorizationPolicy",
      "metadata: { name: bad, namespace: writers }",
      "spec:",
      "  rules:",
      "    - to:",
      "        - operation:",
      "            method: [GET]",
      "",
    ].join("\n"),
  )
  await page.getByText("line 8: spec.rules[0].to[0].operation.method: unknown field method; did you mean").waitFor()
  await page.locator(".cm-lint-marker-error").waitFor()
  expect(await page.getByRole("button", { name: "Apply" }).isDisabled()).toBe(true)
  await write(page, "kind: [")
  await page.getByRole("list", { name: "Errors" }).getByText("line 1").first().waitFor()
})

it("applies a valid policy, shows its enforcement, and lists it in the history", async () => {
  const page = await asOwner("/policies/new?template=allow-one&namespace=app")
  await write(
    page,
    [
      `apiVersion: ${GROUP}/v1alpha3`,
      "kind: AuthorizationPolicy",
      "metadata: { name: from-console, namespace: app }",
      "spec:",
      "  selector: { matchLabels: { app: web } }",
      "  rules: [{ to: [{ operation: { methods: [GET] } }] }]",
      "",
    ].join("\n"),
  )
  await page.locator("button:enabled", { hasText: "Apply" }).click()
  await page.getByRole("heading", { name: "AuthorizationPolicy app/from-console" }).waitFor()
  await page.getByText("enforced by 2 of 2 proxies", { exact: true }).waitFor()
  expect(await page.getByRole("progressbar").getAttribute("value")).toBe("2")

  await page.getByRole("button", { name: "Delete…" }).click()
  await page.getByRole("button", { name: "Delete it" }).click()
  await page.getByRole("heading", { name: "Policies" }).waitFor()
  await expect
    .poll(() => kubectl("get", "authorizationpolicies", "-n", "app", "-o", "name"), SELDOM)
    .not.toContain("console")

  await page.goto(address("/#/changes?ns=app&text=from-console"))
  const history = page.getByRole("region", { name: "History" })
  const change = (word: string) =>
    history.getByRole("listitem").filter({ hasText: `admin ${word} AuthorizationPolicy app/from-console` })
  await change("deleted").waitFor()
  // On a busy machine the proofs may run out of time. The page must show exactly the effects that the control plane decided.
  const recorded: { readonly items: readonly Change[] } = JSON.parse(
    await kubectl("get", "--raw", `${ANSWERS}/namespaces/app/changes`),
  )
  for (const [operation, effect] of [
    ["create", "newly denied"],
    ["delete", "newly allowed"],
  ] as const) {
    const found = recorded.items.find(({ spec }) => spec.name === "from-console" && spec.operation === operation)
    if (found === undefined) throw new Error(`the history has no ${operation} of from-console`)
    const isDecided = found.spec.difference.undecided === undefined
    const entry = change(`${operation}d`)
    await entry
      .getByText(isDecided ? effect : "not decided", { exact: true })
      .first()
      .waitFor()
    expect(await entry.getByText("proved", { exact: true }).count()).toBe(isDecided ? 1 : 0)
  }
  expect(await findings(page)).toEqual([])
  const created = recorded.items.find(({ spec }) => spec.name === "from-console" && spec.operation === "create")
  if (created !== undefined && "digest" in created.spec.certificate) {
    const saving = page.waitForEvent("download")
    await change("created").getByRole("button", { name: "Certificate of entry" }).click()
    expect(await text(await (await saving).createReadStream())).toContain("merlon.dev/certificate/2")
  }
  await change("created").getByRole("button", { name: "Compare from here, before admin created" }).click()
  await page.getByLabel("From", { exact: true }).waitFor()
  const compared = page.getByRole("region", { name: "Net difference" })
  // On a busy machine the proofs may run out of time.
  await compared
    .getByText(/\(proved\)\.|Not decided|could be decided/)
    .first()
    .waitFor()

  await page.goto(address("/#/?ns=app"))
  await page.getByText(/Last change .* by admin\./).waitFor()
  await page.getByRole("link", { name: "Last change" }).click()
  await page.getByRole("heading", { level: 1, name: "Changes" }).waitFor()
  await history.getByText("Compare from here").first().waitFor()
})

it("marks effects of a change as proved or not decided", async () => {
  const page = await asOwner()
  const time = new Date().toISOString()
  const changed = (sequence: number, name: string, difference: object) => ({
    metadata: { name: `${sequence}-0`, namespace: "app" },
    spec: {
      ...{ sequence, time, user: "jane", operation: "update", generation: 2 },
      ...{ kind: "AuthorizationPolicy", namespace: "app", name, difference },
    },
  })
  const region = (text: string) => [{ region: text, workloads: ["app/web-v1-1"] }]
  const items = [
    changed(3, "both", { allowed: region("GET /a"), denied: region("PUT /b") }),
    changed(2, "none", { allowed: [], denied: [] }),
    changed(1, "late", { allowed: [], denied: [], undecided: "the time was up" }),
  ]
  const history = { enabled: true, since: time }
  await page.route(/\/changes\?/, route => route.fulfill({ json: { items, metadata: {}, history } }))
  await page.goto(address("/#/changes"))
  const entry = (name: string) =>
    page.getByRole("listitem").filter({ hasText: `jane updated AuthorizationPolicy app/${name}` })
  const toldOf = async (name: string): Promise<readonly string[]> => [
    ...(await entry(name).locator(".head .badge").allTextContents()),
    ...(await entry(name).locator(".plain li").allTextContents()),
  ]
  await entry("late").waitFor()
  expect(await toldOf("both")).toEqual([
    "proved",
    "newly allowed GET /a on app/web-v1-1",
    "newly denied PUT /b on app/web-v1-1",
  ])
  expect(await toldOf("none")).toEqual([
    "proved",
    "No request to the workloads running at that time is decided differently.",
  ])
  expect(await toldOf("late")).toEqual(["not decided the time was up"])
})

it("explains how to turn on the history", async () => {
  const page = await asOwner()
  await page.route(/\/changes\?/, route =>
    route.fulfill({ json: { items: [], metadata: {}, history: { enabled: false } } }),
  )
  await page.goto(address("/#/changes"))
  await page.getByText("merlond serve --history-entries 200").waitFor()
})

it("completes fields from the schema of the kind", async () => {
  const page = await asOwner("/policies/new?template=strict&namespace=writers")
  await write(
    page,
    `apiVersion: ${GROUP}/v1alpha3\nkind: PeerAuthentication\nmetadata: { name: a, namespace: writers }\n`,
  )
  await page.keyboard.press("ControlOrMeta+End")
  await page.keyboard.type("spec:\n  mt")
  await page.getByRole("option", { name: /mtls/ }).waitFor()
})

it("does not overwrite a concurrent change of another user", async () => {
  await apply(strict("writers", "shared"))
  const page = await asOwner("/policies/PeerAuthentication/writers/shared")
  await page.getByText("No changes: this is the stored version.").waitFor()
  await page.getByRole("textbox", { name: "Policy as YAML" }).click()
  await page.keyboard.press("ControlOrMeta+End")
  await page.keyboard.type("# mine")
  await apply({ ...strict("writers", "shared"), spec: { mtls: { mode: "PERMISSIVE" } } })
  await page.getByText("This policy changed on the server while you edited it.").waitFor()
  expect(await page.getByRole("button", { name: "Apply" }).isDisabled()).toBe(true)
})

it("keeps input typed before the user's rights are known", async () => {
  await apply(strict("writers", "early"))
  const page = await asOwner()
  let answered = (): void => undefined
  const typed = new Promise<void>(resolve => {
    answered = resolve
  })
  await page.route(/selfsubjectaccessreviews/, async route => {
    await typed
    await route.continue()
  })
  await page.goto(address("/#/policies/PeerAuthentication/writers/early"))
  const editor = page.getByRole("textbox", { name: "Policy as YAML" })
  await editor.click()
  await page.keyboard.press("ControlOrMeta+End")
  await page.keyboard.type("# mine")
  expect(await page.getByText("You can read this").count()).toBe(0)
  answered()
  await page.getByRole("button", { name: "Apply" }).waitFor()
  await editor.getByText("# mine").waitFor()
})

it("keeps input typed while a change is applied", async () => {
  await apply(strict("writers", "busy"))
  const page = await asOwner("/policies/PeerAuthentication/writers/busy")
  await page.getByText("No changes: this is the stored version.").waitFor()
  let typed = (): void => undefined
  const done = new Promise<void>(resolve => {
    typed = resolve
  })
  await page.route(/peerauthentications\/busy\?(?!.*dryRun)/, async route => {
    await done
    await route.continue()
  })
  const editor = page.getByRole("textbox", { name: "Policy as YAML" })
  await editor.click()
  await page.keyboard.press("ControlOrMeta+a")
  await page.keyboard.insertText(JSON.stringify({ ...strict("writers", "busy"), spec: { mtls: { mode: "DISABLE" } } }))
  await page.locator("button:enabled", { hasText: "Apply" }).click()
  await editor.click()
  await page.keyboard.press("ControlOrMeta+End")
  await page.keyboard.type(" # and this")
  typed()
  await expect
    .poll(() => kubectl("get", "peerauthentication", "-n", "writers", "busy", "-o", "yaml"), SELDOM)
    .toContain("DISABLE")
  await page.getByText("enforced").or(page.getByText("DISABLE")).first().waitFor()
  await page.locator("button:enabled", { hasText: "Apply" }).waitFor()
  await editor.getByText("# and this").waitFor()
  expect(await page.getByText("This policy changed on the server while you edited it.").count()).toBe(0)
})

it("notices a label that another user added", async () => {
  await apply(strict("writers", "labelled"))
  const page = await asOwner("/policies/PeerAuthentication/writers/labelled")
  await page.getByRole("textbox", { name: "Policy as YAML" }).click()
  await page.keyboard.press("ControlOrMeta+End")
  await page.keyboard.type("# mine")
  await kubectl("label", "peerauthentication", "-n", "writers", "labelled", "team=theirs")
  await page.getByRole("button", { name: "Load the stored version, discard mine" }).click()
  await page.getByRole("textbox", { name: "Policy as YAML" }).getByText("team: theirs").waitFor()
  expect(await page.getByText("# mine").count()).toBe(0)
})

it("offers new policies in the only namespace that a user can write to", async () => {
  const token = await tokenOf("of-one", "view")
  await kubectl(
    "create",
    "rolebinding",
    "-n",
    "writers",
    "of-one",
    "--clusterrole=admin",
    "--serviceaccount=default:of-one",
  )
  const page = await withToken(token)
  await page.getByRole("link", { name: "Policies" }).click()
  await page.getByRole("link", { name: "Require mTLS" }).click()
  await page.getByText("namespace: writers").waitFor()
  await page.locator("button:enabled", { hasText: "Apply" }).waitFor()
  await page.goto(address("/#/policies/new?template=strict&namespace=app"))
  await page.getByText("You can read this policy but not change it.").waitFor()
  await page.goto(address("/#/changes"))
  await page.getByText("Your account cannot read changes").waitFor()
  await page.getByLabel("Namespace", { exact: true }).selectOption("writers")
  await page.getByRole("region", { name: "Net difference" }).waitFor()
})

it("shows a viewer everything, and disabled buttons with the role that helps", async () => {
  await apply(strict("writers", "seen"))
  const page = await withToken(await tokenOf("reader", "view"))
  await page.getByRole("link", { name: "Policies" }).click()
  const why = /The role admin of .* can\./
  await page.getByRole("button", { name: "Require mTLS", description: why, disabled: true }).waitFor()
  await page.getByRole("link", { name: "writers/seen" }).click()
  await page.getByText("You can read this policy but not change it.").waitFor()
  await page.locator(".cm-content[contenteditable=false]").waitFor()
  await page.getByRole("button", { name: "Delete…", description: why, disabled: true }).waitFor()
  expect(await page.locator("main button:enabled").count()).toBe(0)
  expect(await findings(page)).toEqual([])
  // The page shows changes of other users, and stays read-only.
  await apply({ ...strict("writers", "seen"), spec: { mtls: { mode: "PERMISSIVE" } } })
  await page.locator(".cm-content").getByText("PERMISSIVE").waitFor()
  expect(await page.locator(".cm-content[contenteditable=false]").count()).toBe(1)
  await page.goto(address("/#/mtls"))
  await page.getByRole("button", { name: "Require mTLS in app", description: why, disabled: true }).waitFor()
  expect(await findings(page)).toEqual([])
})

it("names the missing role to a user without rights", async () => {
  const page = await withToken(await tokenOf("nobody"))
  await page.getByRole("link", { name: "Policies" }).click()
  await page.getByRole("alert").filter({ hasText: "is forbidden" }).first().waitFor()
  await page.getByText("Your account lacks this right").first().waitFor()
})

it("logs no error on any page", () => {
  // Chromium tries to set inline styles when it replaces text in the editor, and the Content-Security-Policy blocks that.
  expect(complaints.filter(text => !text.startsWith("Applying inline style"))).toEqual([])
})

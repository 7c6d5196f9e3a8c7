// SPDX-License-Identifier: Apache-2.0
import { type Api, ApiError } from "@merlon/control/kubernetes"
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { Catalog } from "./catalog.js"
import { kindName } from "./resource.js"

const SERVED: Readonly<Record<string, unknown>> = {
  "/api/v1": {
    resources: [
      { name: "pods", kind: "Pod", singularName: "pod", namespaced: true, shortNames: ["po"], categories: ["all"] },
      { name: "pods/log", kind: "Pod", namespaced: true },
      { name: "namespaces", kind: "Namespace", singularName: "", namespaced: false, shortNames: ["ns"] },
      { name: 7 },
    ],
  },
  "/apis": {
    groups: [
      { name: "apps", preferredVersion: { version: "v1" } },
      { name: "broken", preferredVersion: { version: "v1" } },
      {},
    ],
  },
  "/apis/apps/v1": {
    resources: [
      {
        name: "deployments",
        kind: "Deployment",
        singularName: "deployment",
        namespaced: true,
        shortNames: ["deploy"],
        categories: ["all"],
      },
    ],
  },
}

function catalog(domain = "merlon.dev") {
  const asked: string[] = []
  const api: Api = {
    async request({ path }) {
      asked.push(path)
      if (path === "/apis/broken/v1") throw new ApiError(503, "ServiceUnavailable", "down")
      if (!Object.hasOwn(SERVED, path))
        throw new ApiError(404, "NotFound", "the server could not find the requested resource")
      return SERVED[path]
    },
    async *lines() {},
    close: async () => undefined,
  }
  return { catalog: new Catalog(api, meshNames({ domain })), asked }
}

describe("a word means", () => {
  it.each([
    ["pa", ["peerauthentication.security.merlon.dev"]],
    ["PeerAuthentication", ["peerauthentication.security.merlon.dev"]],
    ["authorizationpolicies.security.merlon.dev", ["authorizationpolicy.security.merlon.dev"]],
    ["requestauthentication.v1alpha3.security.merlon.dev", ["requestauthentication.security.merlon.dev"]],
    ["po", ["pod"]],
    ["Namespace", ["namespace"]],
    ["deploy", ["deployment.apps"]],
    ["deployments.apps", ["deployment.apps"]],
    ["all", ["pod", "deployment.apps"]],
  ])("%s", async (word, expected) => {
    expect((await catalog().catalog.called(word)).map(kindName)).toEqual(expected)
  })

  it.each(["policies", "merlon"])("all kinds of ours, for `%s`, without a question", async word => {
    const { catalog: served, asked } = catalog()
    expect(await served.called(word)).toHaveLength(5)
    expect(asked).toEqual([])
  })

  it.each([
    ["depolyments", /did you mean `deployments`\?/],
    ["peerautentication", /did you mean `peerauthentication`\?/],
    ["xyzzy", /`kubectl api-resources` lists/],
    ["pa.apps", /serves no kind/],
  ])("nothing, for `%s`", async (word, message) => {
    await expect(catalog().catalog.called(word)).rejects.toThrow(message)
  })
})

describe("a document's kind", () => {
  it("is looked up in its own group, once", async () => {
    const { catalog: served, asked } = catalog()
    expect(await served.ofDocument("apps/v1", "Deployment")).toMatchObject({ plural: "deployments", namespaced: true })
    expect(await served.ofDocument("v1", "Namespace")).toMatchObject({ plural: "namespaces", namespaced: false })
    await served.ofDocument("apps/v1", "Deployment")
    expect(asked).toEqual(["/apis/apps/v1", "/api/v1"])
  })

  it("is looked up again if it was not found: its definition may have been applied", async () => {
    const { catalog: served, asked } = catalog()
    await expect(served.ofDocument("new/v1", "Thing")).rejects.toThrow(/install its definition first/)
    await expect(served.ofDocument("new/v1", "Thing")).rejects.toThrow()
    expect(asked).toEqual(["/apis/new/v1", "/apis/new/v1"])
  })

  it.each([
    ["apps/v1", "Deploiment", /did you mean `Deployment`\?/],
    ["apps/v1", "PeerAuthentication", /write `apiVersion: security.merlon.dev\/v1alpha3`/],
  ])("%s %s is rejected with the correct form", async (apiVersion, kind, message) => {
    await expect(catalog().catalog.ofDocument(apiVersion, kind)).rejects.toThrow(message)
  })

  it("follows the mesh's domain", async () => {
    const { catalog: served, asked } = catalog("dubbo.apache.org")
    expect(await served.ofDocument("security.dubbo.apache.org/v1alpha3", "PeerAuthentication")).toMatchObject({
      group: "security.dubbo.apache.org",
    })
    expect(asked).toEqual([])
  })
})

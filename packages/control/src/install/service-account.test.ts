// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { ApiError, type PatchOptions } from "../kubernetes/client.js"
import type { Connection } from "../kubernetes/connection.js"
import type { KubernetesObject, ResourceType } from "../kubernetes/resource-type.js"
import { VirtualTime } from "../kubernetes/testing/virtual-time.js"
import { MemoryClient } from "../observe/testing/memory-client.js"
import { bootstrapServiceAccount } from "./service-account.js"

/** Applies by merging, and issues numbered tokens that are valid for one hour. */
class AdminClient extends MemoryClient {
  tokens = 0
  away = false

  constructor(readonly time: VirtualTime) {
    super()
  }

  override async patch<T extends KubernetesObject>(
    type: ResourceType,
    name: string,
    body: unknown,
    options?: PatchOptions,
  ): Promise<T> {
    if ((await this.get(type, name, options?.namespace)) === undefined) return this.create<T>(type, body as T) // a whole object
    return super.patch(type, name, body, options)
  }

  override async createSubresource<T>(): Promise<T> {
    if (this.away) throw new ApiError(0, "api-unreachable", "away")
    const expirationTimestamp = new Date(this.time.now() + 3_600_000).toISOString()
    return { status: { token: `token-${++this.tokens}`, expirationTimestamp } } as T // only TokenRequests are created
  }
}

describe("the control plane's own account", () => {
  async function bootstrap() {
    const time = new VirtualTime(Date.UTC(2026, 0))
    const admin = new AdminClient(time)
    const connection: Connection = {
      server: "https://api",
      insecure: false,
      origin: "admin",
      credentials: async () => ({ ca: "CA", certificate: "admin", key: "admin" }),
      rejected: () => {},
    }
    return { time, admin, own: await bootstrapServiceAccount({ admin, connection, names: meshNames(), time }) }
  }

  it("is created with its permissions and uses only its own token", async () => {
    const { admin, own } = await bootstrap()
    expect([...admin.objects.keys()]).toEqual([
      "namespaces/merlon-system",
      "serviceaccounts/merlon-system/merlond",
      "clusterroles/merlond",
      "clusterrolebindings/merlond",
      "roles/merlon-system/merlond",
      "rolebindings/merlon-system/merlond",
      "rolebindings/kube-system/merlond-authentication-reader",
      "clusterroles/merlon-policies-view",
      "clusterroles/merlon-policies-admin",
      "clusterroles/merlon-answers-view",
      "clusterroles/merlon-answers-edit",
    ])
    expect(await own.credentials()).toEqual({ ca: "CA", token: "token-1" })
    expect(own.server).toBe("https://api")
  })

  it("renews its token at half its lifetime, once for all callers, and after a rejection", async () => {
    const { admin, own, time } = await bootstrap()
    await Promise.all([own.credentials(), own.credentials()])
    await time.advance(1_799_000)
    expect(await own.credentials()).toMatchObject({ token: "token-1" })
    await time.advance(2_000)
    expect(await own.credentials()).toMatchObject({ token: "token-2" })
    own.rejected()
    expect(await own.credentials()).toMatchObject({ token: "token-3" })
    expect(admin.tokens).toBe(3)
  })

  it("keeps a valid token while the API is unreachable, but not an expired one", async () => {
    const { admin, own, time } = await bootstrap()
    await own.credentials()
    admin.away = true
    await time.advance(3_500_000)
    expect(await own.credentials()).toMatchObject({ token: "token-1" })
    await time.advance(200_000)
    await expect(own.credentials()).rejects.toThrow("away")
  })
})

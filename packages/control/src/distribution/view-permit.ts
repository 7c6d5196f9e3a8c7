// SPDX-License-Identifier: Apache-2.0
// A caller's permission to see its workload's view, checked on every access. A Pod of the same name may have another
// identity by now, and a caller may be revoked: neither may see what is enforced from then on.

import type { Caller, ClientNode } from "@merlon/xds/server"
import type { TrustSource } from "../authority/trust-source.js"
import type { ProxyView, ProxyViews } from "../snapshot/proxy-views.js"
import type { StreamAuthorizer } from "./stream-authorizer.js"

export interface ViewPermitOptions {
  readonly authorizer: StreamAuthorizer
  readonly trust: TrustSource
  readonly views: ProxyViews
}

export class ViewPermit {
  readonly #options: ViewPermitOptions
  readonly #caller: Caller
  readonly node: ClientNode
  /**
   * The trust against which the caller was last checked, which is replaced as a whole when it changes, and the result.
   */
  #trust: object | undefined
  #isProven = false

  constructor(options: ViewPermitOptions, caller: Caller, node: ClientNode) {
    this.#options = options
    this.#caller = caller
    this.node = node
  }

  /** Whether the caller's Pod has been replaced by another Pod of the same name. That never changes back. */
  get isReplaced(): boolean {
    return this.#options.authorizer.isReplaced(this.#caller, this.node)
  }

  /** Undefined if the view does not exist any more, or this caller may not see it. */
  current(): ProxyView | undefined {
    const { authorizer, trust, views } = this.#options
    const now = trust.current
    if (this.#trust !== now) {
      this.#trust = now
      this.#isProven = authorizer.rejectNode(this.#caller, this.node) === undefined
    }
    const mayHave = this.#isProven && authorizer.rejectPod(this.#caller, this.node) === undefined
    return mayHave ? views.get(this.node.id) : undefined
  }
}

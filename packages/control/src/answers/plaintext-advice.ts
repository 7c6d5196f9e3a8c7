// SPDX-License-Identifier: Apache-2.0
// Tells what happens to a plaintext caller under STRICT and what to do about it, depending on its Pods and their
// proxies. Fail closed: a caller counts as captured only if the proxy of every Pod reports it.

import type { CallHandling, ProxyRecord } from "../distribution/ledger.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"

export interface CallerAdvice {
  /**
   * How all of its Pods handle outbound calls; `none` if one has no proxy for them, `unknown` if the caller's Pods are
   * not known.
   */
  readonly calls: CallHandling | "none" | "unknown"
  /** What to do, in one sentence. */
  readonly advice: string
}

export interface PlaintextCalls {
  /** The caller's Pods; empty if the caller is not a workload of the mesh. */
  readonly pods: readonly Pick<MeshWorkload, "key" | "proxied">[]
  /** The Pod's proxy; undefined if it is not connected. */
  readonly proxyOf: (key: string) => Pick<ProxyRecord, "calls" | "connectedAt"> | undefined
  /** When the caller last called in plaintext, in milliseconds. */
  readonly lastSeen: number
}

export function adviceFor({ pods, proxyOf, lastSeen }: PlaintextCalls): CallerAdvice {
  if (pods.length === 0) {
    return {
      calls: "unknown",
      advice:
        "breaks: not a running workload of the mesh; give it a proxy, keep the port PERMISSIVE, or ignore it if it is gone",
    }
  }
  const bare = pods.filter(({ proxied }) => !proxied).length
  if (bare > 0) {
    return { calls: "none", advice: `breaks: ${some(bare, pods.length)} no proxy; enable injection and restart them` }
  }
  const proxies = pods.map(({ key }) => proxyOf(key))
  const silent = proxies.filter(proxy => proxy?.calls === undefined).length
  if (silent > 0) {
    const why = "no connected proxy that handles calls"
    return {
      calls: "none",
      advice: `breaks: ${some(silent, pods.length)} ${why}; enable outbound capture and restart them`,
    }
  }
  if (proxies.some(proxy => proxy?.calls === "http_proxy")) {
    return {
      calls: "http_proxy",
      advice:
        "breaks unless the program uses `http_proxy`: its calls are not captured; set `http_proxy` in the program, or enable outbound capture",
    }
  }
  // It called in plaintext while every proxy was connected: the call bypassed the proxy, or a policy told it to use
  // plaintext.
  if (proxies.every(proxy => proxy !== undefined && lastSeen > proxy.connectedAt)) {
    return {
      calls: "captured",
      advice:
        "breaks: its calls are captured, but it still called in plaintext; look for ports or addresses excluded from capture, and for a MeshService with mode DISABLE",
    }
  }
  return {
    calls: "captured",
    advice: "uses mTLS by itself: its calls are captured now; ready once its plaintext calls are older than the window",
  }
}

function some(count: number, all: number): string {
  if (count < all) return `${count} of its ${all} Pods ${count === 1 ? "has" : "have"}`
  return all === 1 ? "its Pod has" : "its Pods have"
}

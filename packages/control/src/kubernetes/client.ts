// SPDX-License-Identifier: Apache-2.0
// The interface of the Kubernetes API for the control plane. `http-client.ts` implements it over HTTP; all other code
// depends only on this interface.

import type { NoAnswerCode } from "../errors.js"
import type { KubernetesObject, ResourceType } from "./resource-type.js"

export interface ListOptions {
  /** All namespaces if undefined. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"
  readonly object: T
}

export type PatchType = "merge" | "json" | "apply"

export interface PatchOptions {
  readonly namespace?: string
  readonly subresource?: string
  readonly type?: PatchType
}

export interface KubernetesClient {
  /** Undefined if there is none. Every other failure of any call is an `ApiError`. */
  get<T extends KubernetesObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined>
  /** Reads all pages. */
  list<T extends KubernetesObject>(
    type: ResourceType,
    options?: ListOptions,
  ): Promise<{ readonly items: readonly T[]; readonly resourceVersion: string }>
  create<T extends KubernetesObject>(type: ResourceType, object: T, options?: { readonly dryRun?: boolean }): Promise<T>
  /** Fails with 409 if the resourceVersion is not the current one. */
  replace<T extends KubernetesObject>(type: ResourceType, object: T, subresource?: string): Promise<T>
  patch<T extends KubernetesObject>(type: ResourceType, name: string, body: unknown, options?: PatchOptions): Promise<T>
  /** False if there was none. */
  delete(type: ResourceType, name: string, namespace?: string): Promise<boolean>
  /** POST to a subresource such as `serviceaccounts/NAME/token`. */
  createSubresource<T>(
    type: ResourceType,
    name: string,
    subresource: string,
    body: unknown,
    namespace?: string,
  ): Promise<T>
  /** Ends when the server ends it or the signal aborts; fails with an `ApiError` (410: list again). */
  watch<T extends KubernetesObject>(
    type: ResourceType,
    resourceVersion: string,
    options: ListOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<WatchEvent<T>>
}

export interface StatusCause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

/** The server's error response, or the lack of a response. */
export class ApiError extends Error {
  override readonly name = "ApiError"
  /** HTTP status; 0 if there was no response. */
  readonly code: number
  /** In Kubernetes terms, such as `NotFound`, `Conflict`, `Forbidden`. */
  readonly reason: string
  readonly causes: readonly StatusCause[]

  constructor(code: number, reason: string, message: string, causes: readonly StatusCause[] = []) {
    super(message)
    this.code = code
    this.reason = reason
    this.causes = causes
  }

  /** The error of a request without a response from an API server, or without a valid one. */
  static unanswered(reason: NoAnswerCode, message: string): ApiError {
    return new ApiError(0, reason, message)
  }
}

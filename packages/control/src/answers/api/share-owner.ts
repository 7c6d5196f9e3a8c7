// SPDX-License-Identifier: Apache-2.0
// Whose share a user takes of. All service accounts of a namespace have one together: whoever may make accounts there would
// otherwise have as many shares as they like.

const ACCOUNT = /^system:serviceaccount:([^:]+):[^:]+$/

export function shareOwner(user: string): string {
  const namespace = ACCOUNT.exec(user)?.[1]
  return namespace === undefined ? user : `system:serviceaccounts:${namespace}`
}

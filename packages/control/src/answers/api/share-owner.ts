// SPDX-License-Identifier: Apache-2.0
// Whose share a user's requests count against. All service accounts of a namespace share one: otherwise a user who can
// create accounts there would have any number of shares.

const ACCOUNT = /^system:serviceaccount:([^:]+):[^:]+$/

export function shareOwner(user: string): string {
  const namespace = ACCOUNT.exec(user)?.[1]
  return namespace === undefined ? user : `system:serviceaccounts:${namespace}`
}

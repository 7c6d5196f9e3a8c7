// SPDX-License-Identifier: Apache-2.0
// The owner of the share that a user's requests count against. All service accounts of a namespace have one share:
// otherwise a user who can create accounts there would have any number of shares.

const ACCOUNT = /^system:serviceaccount:([^:]+):[^:]+$/

export function shareOwner(user: string): string {
  const namespace = ACCOUNT.exec(user)?.[1]
  return namespace === undefined ? user : `system:serviceaccounts:${namespace}`
}

// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react"
import { Link } from "wouter"

export function NotFound(): ReactNode {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        <Link href="/">Go to the overview</Link>
      </p>
    </>
  )
}

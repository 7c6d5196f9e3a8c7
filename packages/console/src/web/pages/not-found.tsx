// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react"
import { Link } from "wouter"
import { PageHead } from "../ui/card.js"

export function NotFound(): ReactNode {
  return (
    <>
      <PageHead title="Page not found" />
      <p>
        <Link href="/">Go to the overview</Link>
      </p>
    </>
  )
}

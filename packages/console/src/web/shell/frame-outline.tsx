// SPDX-License-Identifier: Apache-2.0
// The empty frame, shown while the session loads, so that nothing moves when the page fills it.

import type { ReactNode } from "react"
import { Skeleton } from "../ui/loaded.js"
import "./frame.css"

export function FrameOutline(): ReactNode {
  return (
    <div className="frame">
      <div className="side" />
      <div className="top" />
      <main>
        <Skeleton />
      </main>
    </div>
  )
}

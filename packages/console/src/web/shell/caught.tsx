// SPDX-License-Identifier: Apache-2.0
// Error boundary: shows the error of a page that fails to render, and keeps the rest of the console working.

import { Component, type ReactNode } from "react"
import { Failure } from "../ui/failure.js"

interface CaughtState {
  readonly error?: Error
}

export class Caught extends Component<{ readonly children: ReactNode }, CaughtState> {
  override state: CaughtState = {}

  static getDerivedStateFromError(error: unknown): CaughtState {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override render(): ReactNode {
    return this.state.error === undefined ? this.props.children : <Failure error={this.state.error} />
  }
}

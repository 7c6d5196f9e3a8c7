// SPDX-License-Identifier: Apache-2.0
// Signing in at an issuer or with a token that somebody pastes; a link's code has been tried before this is shown.

import { useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type ReactNode, useState } from "react"
import { type About, issuerAddress, signIn } from "../api/client.js"

interface SignInProps {
  readonly about: About | undefined
  readonly failure: Error | null
  /** Whether somebody was signed in here until now. */
  readonly ended: boolean
}

export function SignIn({ about, failure, ended }: SignInProps): ReactNode {
  const queries = useQueryClient()
  const [trouble, setTrouble] = useState("")
  const said = trouble || (about?.linkTrouble ?? "")
  const enter = async (token: string): Promise<void> => {
    try {
      queries.setQueryData(["session"], await signIn({ token }))
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error))
    }
  }
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const token = new FormData(event.currentTarget).get("token")
    if (typeof token === "string") void enter(token.trim())
  }
  return (
    <main className="sign-in">
      <h1>Merlon</h1>
      {ended && <p role="status">You are signed out: the session has ended, or the console was started anew.</p>}
      {failure !== null && <p role="alert">{failure.message}</p>}
      {said !== "" && <p role="alert">{said}</p>}
      {about?.signIn.link === true && (
        <p>
          <code>merlonctl dashboard</code> opens this page signed in.
        </p>
      )}
      {about?.signIn.oidc !== undefined && (
        <p>
          <a href={issuerAddress()}>Sign in at {about.signIn.oidc}</a>
        </p>
      )}
      {about?.signIn.token === true && (
        <form onSubmit={submit}>
          <label>
            Token of the cluster
            <input name="token" type="password" autoComplete="off" required />
          </label>
          <p className="hint">
            For instance from <code>kubectl create token NAME -n NAMESPACE</code>. Its rights are yours here.
          </p>
          <button type="submit" className="primary">
            Sign in
          </button>
        </form>
      )}
    </main>
  )
}

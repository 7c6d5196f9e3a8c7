// SPDX-License-Identifier: Apache-2.0
// Sign-in at an issuer or with a pasted token. The code of a sign-in link is tried before this form is shown. The form
// tries it too when a link is pasted into the address bar of this tab, since the browser does not reload the page then.

import { useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type ReactNode, useEffect, useState } from "react"
import { type About, issuerAddress, openSession, signIn } from "../api/client.js"
import { Brand } from "./brand.js"
import "./frame.css"
import "../ui/card.css"

interface SignInProps {
  readonly about: About | undefined
  readonly failure: Error | null
  /** Whether a user was signed in on this page before. */
  readonly ended: boolean
}

export function SignIn({ about, failure, ended }: SignInProps): ReactNode {
  const queries = useQueryClient()
  const [problem, setTrouble] = useState("")
  const message = problem || (about?.linkTrouble ?? "")
  useEffect(() => {
    const pasted = async (): Promise<void> => {
      if (window.location.hash.startsWith("#/sign-in?")) queries.setQueryData(["session"], await openSession())
    }
    const changed = (): void => void pasted().catch((error: unknown) => setTrouble(String(error)))
    window.addEventListener("hashchange", changed)
    return () => window.removeEventListener("hashchange", changed)
  }, [queries])
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
      <div className="card">
        <Brand mesh={about?.names.mesh} />
        <h1>Sign in</h1>
        {ended && <p role="status">You are signed out: the session expired, or the console restarted.</p>}
        {failure !== null && <p role="alert">{failure.message}</p>}
        {message !== "" && <p role="alert">{message}</p>}
        {about?.signIn.link === true && (
          <p>
            <code>merlonctl dashboard</code> opens this page signed in.
          </p>
        )}
        {about?.signIn.oidc !== undefined && (
          <p>
            <a className="button primary" href={issuerAddress()}>
              Sign in at {about.signIn.oidc}
            </a>
          </p>
        )}
        {about?.signIn.token === true && (
          <form onSubmit={submit}>
            <label>
              Cluster token
              <input name="token" type="password" autoComplete="off" required />
            </label>
            <p className="hint">
              For example from <code>kubectl create token NAME -n NAMESPACE</code>. You get the rights of that account.
            </p>
            <button type="submit" className="primary">
              Sign in
            </button>
          </form>
        )}
      </div>
    </main>
  )
}

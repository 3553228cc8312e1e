import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useAuth } from "../auth";
import { Logo } from "../ui";

/** Ask who is there: by the identity provider, or in development by a pasted token. */
export function SignInPage({ reason }: { reason: string }) {
  const { settings, login } = useAuth();
  const queries = useQueryClient();
  const [token, setToken] = useState("");
  // A service without a client of the console at its provider is used with tokens from elsewhere.
  const takesTokens = settings.development || !login.canSignIn;
  const paste = () => {
    login.paste(token);
    void queries.resetQueries();
  };
  return (
    <main className="sign-in">
      <div className="logo">
        <Logo />
      </div>
      <h1 className="screen-title">{settings.facility_name}</h1>
      <p className="dim">{reason}</p>
      {login.canSignIn && (
        <button type="button" className="btn main-do big" onClick={() => void login.signIn()}>
          Sign in
        </button>
      )}
      {takesTokens && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            paste();
          }}
        >
          <div className="field">
            <label htmlFor="token">
              Access token<em>kept until this page is closed</em>
            </label>
            <textarea id="token" className="in mono" value={token} onChange={(event) => setToken(event.target.value)} />
          </div>
          <button type="submit" className="btn">
            {token.trim() || !settings.development ? "Use this token" : "Continue without a token"}
          </button>
        </form>
      )}
    </main>
  );
}

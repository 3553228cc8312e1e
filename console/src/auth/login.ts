/** Signing in: authorization code with PKCE, tokens in memory only. */
import type { User, UserManager } from "oidc-client-ts";
import type { ConsoleSettings } from "./settings";

export type SignIn = { kind: "development"; token: string | undefined } | { kind: "signed-in"; expiresAt: number | undefined; canRenew: boolean } | { kind: "ended" };

/** How long before its end a token is renewed. A token that lives less than twice as long is renewed after half its life. */
const RENEW_SECONDS = 120;
const RETRY_MS = 10_000;

/** The signed-in person's token, and how it is renewed. */
export class Login {
  private users: UserManager | undefined;
  private user: User | undefined;
  /** How long the token lives, in seconds. */
  private lifetime = 0;
  private pasted: string | undefined;
  private readonly listeners = new Set<() => void>();
  private current: SignIn;

  constructor(private readonly settings: ConsoleSettings) {
    this.current = { kind: "development", token: undefined };
  }

  /** The access token for the next request. */
  readonly token = (): string | undefined => this.user?.access_token ?? this.pasted;
  readonly state = (): SignIn => this.current;
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get canSignIn(): boolean {
    return Boolean(this.settings.issuer && this.settings.client_id);
  }

  /** Finish a redirect, or begin one. Return whether the console can be shown now. */
  async begin(): Promise<boolean> {
    if (!this.canSignIn) return true;
    const users = await this.manager();
    const query = new URLSearchParams(location.search);
    if (query.has("state") && (query.has("code") || query.has("error"))) {
      const user = await users.signinRedirectCallback();
      const back = typeof user.state === "string" ? user.state : import.meta.env.BASE_URL;
      history.replaceState(null, "", back);
      this.take(user);
      return true;
    }
    if (this.settings.development) return true;
    await this.signIn();
    return false;
  }

  /** Go to the identity provider and come back to the same address. */
  async signIn(): Promise<void> {
    const users = await this.manager();
    await users.signinRedirect({ state: location.pathname + location.search });
  }

  /** Work with a token that was pasted; undefined works without one. */
  paste(token: string | undefined): void {
    this.user = undefined;
    this.pasted = token?.trim() || undefined;
    this.become({ kind: "development", token: this.pasted });
  }

  /** Forget the tokens, revoke them, and end the session at the identity provider, where it offers that. */
  async signOut(): Promise<void> {
    const users = this.users;
    const idToken = this.user?.id_token;
    this.user = undefined;
    this.pasted = undefined;
    this.become({ kind: "ended" });
    if (!users) return;
    try {
      // A provider that cannot be reached or revokes nothing leaves the token to its end.
      await users.revokeTokens();
    } catch {
      // The session is ended all the same.
    }
    await users.removeUser();
    const { end_session_endpoint } = await users.metadataService.getMetadata().catch(() => ({ end_session_endpoint: undefined }));
    // Otherwise the next person at this computer is signed in as this person without being asked.
    if (end_session_endpoint) await users.signoutRedirect(idToken ? { id_token_hint: idToken } : {});
  }

  /** The service no longer accepts the token. */
  refused(): void {
    if (this.user) this.become({ kind: "ended" });
  }

  private async manager(): Promise<UserManager> {
    if (this.users) return this.users;
    const { InMemoryWebStorage, UserManager, WebStorageStateStore } = await import("oidc-client-ts");
    const { issuer, client_id, scope, resource } = this.settings;
    const users = new UserManager({
      authority: issuer ?? "",
      client_id: client_id ?? "",
      redirect_uri: location.origin + import.meta.env.BASE_URL,
      response_type: "code",
      scope: scope ?? "openid",
      // A provider need not remember for which resource a code or a refresh token was asked.
      ...(resource && { resource, extraTokenParams: { resource } }),
      automaticSilentRenew: false,
      loadUserInfo: false,
      accessTokenExpiringNotificationTimeInSeconds: RENEW_SECONDS,
      userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
      stateStore: new WebStorageStateStore({ store: sessionStorage }),
    });
    users.events.addAccessTokenExpiring(() => {
      // The library reports at once a token that ends soon.
      const notified = Math.max(0, this.lifetime - RENEW_SECONDS);
      setTimeout(() => void this.renew(), Math.max(0, this.lifetime / 2 - notified) * 1000);
    });
    users.events.addAccessTokenExpired(() => this.become({ kind: "ended" }));
    return (this.users = users);
  }

  private async renew(): Promise<void> {
    // Without a refresh token the library would open a frame, which the page's policy forbids.
    if (!this.user?.refresh_token) return;
    try {
      const { resource } = this.settings;
      const user = await this.users?.signinSilent(resource ? { resource } : {});
      if (user) this.take(user);
    } catch {
      if (this.current.kind !== "signed-in") return;
      this.become({ kind: "signed-in", expiresAt: this.expiresAt, canRenew: false });
      // The provider may be back before the token ends.
      setTimeout(() => void this.renew(), RETRY_MS);
    }
  }

  private get expiresAt(): number | undefined {
    return this.user?.expires_at === undefined ? undefined : this.user.expires_at * 1000;
  }

  private take(user: User): void {
    this.user = user;
    this.lifetime = user.expires_in ?? 0;
    this.become({ kind: "signed-in", expiresAt: this.expiresAt, canRenew: Boolean(user.refresh_token) });
  }

  private become(state: SignIn): void {
    this.current = state;
    for (const listener of this.listeners) listener();
  }
}

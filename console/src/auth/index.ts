export { AuthContext, useAuth, useMay, useMe, useSignIn, type Offer, type Verdict } from "./me";
export { Login, type SignIn } from "./login";
export { readSettings, type ConsoleSettings } from "./settings";

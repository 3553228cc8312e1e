// A certified identity provider for the tests: signed tokens for one resource, opaque for others.
import { createServer } from 'node:http';
import { once } from 'node:events';
import Provider, { errors } from 'oidc-provider';

const RESOURCES = {
  'https://beamkeep.test': 'jwt',
  'https://other.test': 'jwt',
  'https://opaque.beamkeep.test': 'opaque',
  'https://opaque.other.test': 'opaque',
};

const client = (client_id, client_secret) => ({
  client_id,
  client_secret,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
});

const server = createServer();
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const { privateKey } = await crypto.subtle.generateKey(
  { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: 'SHA-256' },
  true,
  ['sign', 'verify'],
);
const { key_ops, ext, ...signingKey } = await crypto.subtle.exportKey('jwk', privateKey);

const provider = new Provider(issuer, {
  clients: [client('console', 'console-secret'), client('beam keep', 's3cret:+ %')],
  jwks: { keys: [{ ...signingKey, kid: 'first', use: 'sig', alg: 'RS256' }] },
  cookies: { keys: ['for the tests only'] },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: (ctx, asking) => asking.clientId === 'beam keep' },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(ctx, resource) {
        if (!(resource in RESOURCES)) throw new errors.InvalidTarget();
        return { scope: '', audience: resource, accessTokenFormat: RESOURCES[resource], accessTokenTTL: 3600 };
      },
    },
  },
});
server.on('request', provider.callback());

// The parent holds the other end of stdin: when it goes, in whatever way, so does this program.
process.stdin.on('end', () => process.exit(0)).resume();
process.on('SIGTERM', () => process.exit(0));
console.log(`ready ${issuer}`);

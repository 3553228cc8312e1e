/** The shape of every state. The words are those of the service. */
import type { Words } from "../api/names";

/** Ten shapes, one meaning each. */
export type Mark = "normal" | "blocks" | "caution" | "unknown" | "progress" | "held" | "pending" | "done" | "denied" | "info";

export type Tone = "" | "alarm" | "warn" | "unk" | "act";

/** The colour of a shape: none for what is normal. */
export const TONES: Record<Mark, Tone> = {
  normal: "",
  blocks: "alarm",
  caution: "warn",
  unknown: "unk",
  progress: "act",
  held: "warn",
  pending: "",
  done: "",
  denied: "",
  info: "",
};

/** The schemas whose words are states. */
export const STATE_SCHEMA = /(Status|Lifecycle|Condition|Outcome|Verdict|State|Intent|Severity|Stage|Band|Decision)$/;
export type StateSchema = Extract<
  keyof Words,
  `${string}${"Status" | "Lifecycle" | "Condition" | "Outcome" | "Verdict" | "State" | "Intent" | "Severity" | "Stage" | "Band" | "Decision"}`
>;

// prettier-ignore
export const STATES: { [N in StateSchema]?: Record<Words[N], Mark> } = {
  AgentStatus: { Defined: "pending", Versioned: "normal", Suspended: "held", Deprecated: "denied" },
  AssetCondition: { Nominal: "normal", Degraded: "caution", Faulted: "blocks" },
  AssetLifecycle: { Commissioned: "pending", Active: "normal", Maintenance: "held", Decommissioned: "denied" },
  AttestationOutcome: { Match: "normal", Mismatch: "blocks", Unreachable: "unknown" },
  BeamlineState: { Running: "progress", Held: "held", Idle: "normal" },
  CampaignIntent: { Series: "info", Sweep: "info", Coordination: "info", Block: "info" },
  CampaignStatus: { Planned: "pending", Active: "progress", Held: "held", Closed: "done", Abandoned: "denied" },
  CautionSeverity: { Notice: "info", Caution: "info", Warning: "caution" },
  CautionStatus: { Active: "caution", Superseded: "denied", Retired: "denied" },
  ClearanceStatus: { Defined: "pending", Submitted: "pending", UnderReview: "pending", Approved: "pending", Active: "normal", Rejected: "denied", Expired: "blocks", Superseded: "denied" },
  ConductOutcome: { Completed: "done", Aborted: "blocks", Held: "held", Halted: "held", Cancelled: "denied", Interrupted: "unknown" },
  ConductStatus: { Queued: "pending", Running: "progress", Closing: "progress", Ended: "done" },
  ConfidenceBand: { Low: "caution", Medium: "info", High: "info", Certain: "info" },
  CopyVerdict: { Discarded: "denied", Deletable: "pending", CheckFirst: "pending", Needed: "normal" },
  CurrentStatus: { Provisional: "pending", Verified: "normal", None: "pending" },
  CustodyVerdict: { Lost: "blocks", Below: "caution", Met: "normal", Spare: "normal" },
  DatasetIntent: { Trial: "pending", Production: "normal", Retracted: "denied" },
  DatasetStatus: { Registered: "normal", Archived: "done", Discarded: "denied" },
  DeclarationStatus: { Defined: "pending", Versioned: "normal", Deprecated: "denied" },
  DeliveryStatus: { Sending: "progress", Delivered: "done", Refused: "blocks", Skipped: "denied" },
  DistributionStatus: { Registered: "pending", Verified: "normal", Stale: "caution", Discarded: "denied", Removed: "denied", Overwritten: "denied" },
  EditionStatus: { Registered: "pending", Sealed: "normal", Published: "done", Withdrawn: "denied" },
  EnclosureLifecycle: { Active: "normal", Decommissioned: "denied" },
  EvidenceVerdict: { same: "normal", differs: "caution", not_replayable: "unknown" },
  ExternalIdState: { Pending: "pending", Findable: "normal", Hidden: "denied" },
  FacilityStatus: { Active: "normal", Decommissioned: "denied" },
  CredentialStatus: { Active: "normal", Rotating: "progress", Revoked: "denied" },
  ExchangePermitStatus: { Defined: "pending", Active: "normal", Suspended: "held", Revoked: "denied" },
  FrameStatus: { Active: "normal", Decommissioned: "denied" },
  MountStatus: { Active: "normal", Decommissioned: "denied" },
  PermitStatus: { Permitted: "normal", NotPermitted: "blocks", Unknown: "unknown" },
  ProcedureStatus: { Defined: "pending", Running: "progress", Held: "held", Completed: "done", Aborted: "blocks", Truncated: "caution" },
  ProposalStatus: { Open: "pending", Approved: "done", Rejected: "denied", Withdrawn: "denied" },
  ReviewDecision: { Approved: "done", Rejected: "denied", RequestedChanges: "caution" },
  RevisionStatus: { Provisional: "pending", Verified: "normal" },
  RiskBand: { Green: "normal", Yellow: "caution", Red: "blocks" },
  RunStatus: { Running: "progress", Held: "held", Completed: "done", Aborted: "blocks", Stopped: "caution", Truncated: "caution" },
  Stage: { Started: "progress", Submitted: "progress", Reading: "progress", Writing: "progress", Written: "progress", Succeeded: "done", Failed: "blocks", Skipped: "denied" },
  SubjectStatus: { Received: "pending", Mounted: "normal", Measured: "done", Removed: "pending", Returned: "done", Stored: "done", Discarded: "denied" },
  SubscriptionStatus: { Active: "normal", Paused: "held", Retired: "denied" },
  SupplyStatus: { Unknown: "unknown", Available: "normal", Degraded: "caution", Unavailable: "blocks", Recovering: "caution", Decommissioned: "denied" },
  VisitStatus: { Planned: "pending", Arrived: "pending", InProgress: "progress", OnHold: "held", Completed: "done", Cancelled: "denied", Aborted: "blocks", Voided: "denied" },
};

/** Return the shape of a state; with no schema, that of the first schema that has the word. */
export function markOf(word: string, schema?: StateSchema): Mark {
  const tables = schema ? [STATES[schema]] : Object.values(STATES);
  for (const table of tables as (Record<string, Mark | undefined> | undefined)[]) {
    const mark = table?.[word];
    if (mark) return mark;
  }
  return "info";
}

/** Words that are the names of something, and how they are written. */
export const NAMES: Partial<Record<string, string>> = {
  HTTPS: "HTTPS",
  S3: "S3",
  POSIX: "POSIX",
  NFS: "NFS",
  XRootD: "XRootD",
  OAI_PMH: "OAI-PMH",
  PIDControllable: "PID controllable",
  EPICS_PV: "EPICS PV",
  TANGO_ATTRIBUTE: "Tango attribute",
  CONTROLSYS_PV: "Control system PV",
  sha1: "SHA-1",
  sha256: "SHA-256",
  "sha256-tree": "SHA-256 tree",
  sha512: "SHA-512",
  blake3: "BLAKE3",
  md5: "MD5",
  crc32c: "CRC-32C",
  crc64nvme: "CRC-64/NVME",
  adler32: "Adler-32",
  "xxh3-64": "XXH3-64",
  doi: "DOI",
  igsn: "IGSN",
  ROCrate: "RO-Crate",
  ROR: "ROR",
  GRID: "GRID",
  ISNI: "ISNI",
  NXtomo: "NXtomo",
  NXmx: "NXmx",
  HTTP: "HTTP",
  MCP_STDIO: "MCP stdio",
  MCP_STREAMABLE_HTTP: "MCP streamable HTTP",
};

/** Return a state as words: «InProgress» is «In progress», «NotPermitted» is «Not permitted». */
export function stateText(word: string): string {
  const name = NAMES[word];
  if (name) return name;
  const spaced = word.replaceAll("_", " ").replace(/(?<=[a-z])(?=[A-Z])/g, " ");
  return spaced.charAt(0).toUpperCase() + spaced.slice(1).toLowerCase();
}

/** The states of an object by the schema of its state, for a kind whose state is known by its status. */
export const STATUS_SCHEMA: Partial<Record<string, StateSchema>> = {
  Agent: "AgentStatus",
  Asset: "AssetLifecycle",
  Campaign: "CampaignStatus",
  Caution: "CautionStatus",
  Clearance: "ClearanceStatus",
  Dataset: "DatasetStatus",
  Distribution: "DistributionStatus",
  Edition: "EditionStatus",
  Enclosure: "PermitStatus",
  Facility: "FacilityStatus",
  Credential: "CredentialStatus",
  Permit: "ExchangePermitStatus",
  Procedure: "ProcedureStatus",
  Proposal: "ProposalStatus",
  Run: "RunStatus",
  Subject: "SubjectStatus",
  Subscription: "SubscriptionStatus",
  Supply: "SupplyStatus",
  Visit: "VisitStatus",
};

/** Return the shape of the state of an object by its kind: `Available` of a supply is normal. */
export function markOfKind(kind: string | undefined, word: string): Mark {
  const schema = kind ? STATUS_SCHEMA[kind] : undefined;
  const table = schema ? (STATES[schema] as Record<string, Mark | undefined>) : undefined;
  return table?.[word] ?? markOf(word);
}

// Package preflight finds, before a set of manifests is applied, what will not work. [Foresee]
// returns a remark for each fault: a missing Secret, a rollout that will deadlock, a Service that
// selects nothing. In doubt, it makes no remark. It reads the keys of Secrets and never the values.
// Package unready explains faults that exist already.
//
// # Codes
//
// They are stable, and the same as in package unready for the same cause: SecretMissing,
// SecretKeyMissing, ConfigMapMissing, ConfigMapKeyMissing, ClaimMissing, ServiceAccountMissing,
// PullSecretMissing, VariableUndefined, VolumeDeadlock, VolumeShared, QuotaExceeded,
// QuotaNeedsResources, EvictionBlocked, SelectorMatchesNothing, TargetPortMissing, ImageMayBeOld,
// NeedsPruned, GoesWithPruned.
package preflight

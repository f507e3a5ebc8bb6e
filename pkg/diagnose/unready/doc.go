// Package unready explains why an object does not get ready. [Gather] reads the facts, [Diagnose]
// draws the conclusions: causes with evidence, the next command, its risk and the object that has
// to change. An [Explainer] repeats both while objects hang. It does not decide readiness, does
// not wait, and never reads a value of a Secret.
//
// # Codes
//
// They are stable; new ones may come.
//
// Pods that are not created: QuotaExceeded, QuotaNeedsResources,
// ServiceAccountMissing, PodSecurityViolation, WebhookDenied, WebhookUnavailable,
// PolicyDenied, LimitRangeViolation, PriorityClassMissing, CreateRefused.
//
// Pods without a node: Unschedulable, NoNodes, SchedulingGated, NotScheduled.
//
// Volumes: ClaimMissing, ClaimTerminating, ClaimLost, ClaimUnbound, NoStorageClass,
// StorageClassMissing, ProvisioningFailed, NoProvisioner, NoVolume,
// WaitForFirstConsumer, VolumeDeadlock, VolumeInUse, VolumeShared,
// VolumeAttachedElsewhere, VolumeNotMounted.
//
// Pods on a node: NodeMissing, NodeNotReady, PodTerminating, PodEvicted,
// PodRejected, SandboxFailed, ReadinessGate, Starting, ConfigMapMissing,
// SecretMissing.
//
// Containers: ImageNotFound, ImageAccessDenied, ImagePlatformMissing, ImagePullFailed, ImageNameInvalid,
// ImageNeverPulled, ImageDiffers, ContainerCrash, ContainerExits, OOMKilled,
// CommandNotFound, ProbeKills, ContainerConfigError, ContainerNotStarted,
// InitContainerRunning, ReadinessProbeFailing, StartupProbeFailing.
//
// Workloads: Paused, ProgressDeadlineExceeded, MinReadySeconds,
// StatefulSetPodStuck, UpdateOnDelete, Suspended, JobFailed, JobBackoffLimit,
// JobDeadline, CronJobNotStarted, AutoscalerInactive, NoMetrics.
//
// Network: NoEndpoints, NoReadyEndpoints, SelectorMatchesNothing,
// TargetPortMissing, LoadBalancerPending, LoadBalancerFailed, IngressNoAddress,
// IngressClassMissing, NoIngressClass, ServiceMissing.
//
// Definitions, aggregated ones too: NamesConflict, SchemaNotStructural, GroupProtected,
// NotEstablished, APIServiceUnavailable.
//
// Any kind: NamespaceTerminating, Terminating, ReferenceMissing, NotObserved, NoController,
// ControllerDown, Stalled, ConditionFalse, ConditionUnknown, StatusSays, Reconciling,
// WarningEvent.
//
// Objects that could not be read: NotAllowed, Unreadable.
package unready

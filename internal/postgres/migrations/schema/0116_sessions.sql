-- People who sign in with OpenID Connect, and their sessions. None of this is a view.

create table people (
    id           text primary key, -- of the issuer and the subject, see package session
    issuer       text not null,
    subject      text not null,
    name         text not null,
    role         text not null default '', -- of the last sign-in; '' = there was none, or it was refused
    account      text not null default '', -- id; '' = none
    signed_in_at timestamptz
);

-- The secret of a session is in the browser's cookie only.
create table sessions (
    id         uuid primary key,
    person     text not null references people (id),
    hash       bytea not null unique check (length(hash) = 32),
    role       text not null,
    account    text references accounts (id), -- null = an operator without an account
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ended_at   timestamptz -- before its expiry
);
create index sessions_person on sessions (person);

/// GLib's D-Bus, as Swift imports it: what the desktop and logind say of a session.
#ifndef PASSDIR_CGIO_SHIM_H
#define PASSDIR_CGIO_SHIM_H

#include <gio/gio.h>
#include <gio/gunixfdlist.h>

/// Has logind wait, for a few seconds, before it suspends the computer, until the descriptor is closed; -1 where it does
/// not answer. g_variant_new takes any number of arguments, which Swift cannot call.
static inline int passdir_bus_inhibit_sleep(GDBusConnection *bus, const char *reason)
{
    GUnixFDList *descriptors = NULL;
    GVariant *reply = g_dbus_connection_call_with_unix_fd_list_sync(
        bus, "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "Inhibit",
        g_variant_new("(ssss)", "sleep", "passdir", reason, "delay"), G_VARIANT_TYPE("(h)"),
        G_DBUS_CALL_FLAGS_NO_AUTO_START, 5000, NULL, &descriptors, NULL, NULL);
    if (!reply) return -1;
    int index = -1, descriptor = -1;
    g_variant_get(reply, "(h)", &index);
    // The list's own copy is closed with it; this one is closed on exec.
    if (descriptors && index >= 0 && index < g_unix_fd_list_get_length(descriptors))
        descriptor = g_unix_fd_list_get(descriptors, index, NULL);
    if (descriptors) g_object_unref(descriptors);
    g_variant_unref(reply);
    return descriptor;
}

/// The user of a session of logind, and whether a person uses it; -1 where that is not known, or it is none's.
static inline gint64 passdir_bus_session_user(GDBusConnection *bus, const char *path)
{
    GVariant *reply = g_dbus_connection_call_sync(
        bus, "org.freedesktop.login1", path, "org.freedesktop.DBus.Properties", "GetAll",
        g_variant_new("(s)", "org.freedesktop.login1.Session"), G_VARIANT_TYPE("(a{sv})"),
        G_DBUS_CALL_FLAGS_NO_AUTO_START, 5000, NULL, NULL);
    if (!reply) return -1;
    gint64 user = -1;
    guint32 number = 0;
    const char *kind = "";
    GVariant *all = g_variant_get_child_value(reply, 0);
    GVariant *owner = g_variant_lookup_value(all, "User", G_VARIANT_TYPE("(uo)"));
    if (owner) {
        g_variant_get(owner, "(u&o)", &number, NULL);
        // Since systemd 256 a user's service manager has a session, too: "manager".
        if (!g_variant_lookup(all, "Class", "&s", &kind) || g_str_has_prefix(kind, "user")) user = number;
        g_variant_unref(owner);
    }
    g_variant_unref(all);
    g_variant_unref(reply);
    return user;
}

/// The sessions of logind; NULL where it does not answer. To be freed with g_strfreev.
static inline char **passdir_bus_sessions(GDBusConnection *bus)
{
    GVariant *reply = g_dbus_connection_call_sync(
        bus, "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
        "ListSessions", NULL, G_VARIANT_TYPE("(a(susso))"), G_DBUS_CALL_FLAGS_NO_AUTO_START, 5000, NULL, NULL);
    if (!reply) return NULL;
    GStrvBuilder *paths = g_strv_builder_new();
    GVariantIter *sessions = NULL;
    const char *path = NULL;
    g_variant_get(reply, "(a(susso))", &sessions);
    while (g_variant_iter_next(sessions, "(&su&s&s&o)", NULL, NULL, NULL, NULL, &path)) g_strv_builder_add(paths, path);
    g_variant_iter_free(sessions);
    g_variant_unref(reply);
    char **found = g_strv_builder_end(paths);
    g_strv_builder_unref(paths);
    return found;
}

/// What a signal says with its one truth value; FALSE where it says something else.
static inline gboolean passdir_bus_truth(GVariant *parameters)
{
    gboolean value = FALSE;
    if (g_variant_is_of_type(parameters, G_VARIANT_TYPE("(b)"))) g_variant_get(parameters, "(b)", &value);
    return value;
}

/// Whether a change of properties says that one is true now.
static inline gboolean passdir_bus_became_true(GVariant *parameters, const char *name)
{
    if (!g_variant_is_of_type(parameters, G_VARIANT_TYPE("(sa{sv}as)"))) return FALSE;
    gboolean value = FALSE;
    GVariant *changed = g_variant_get_child_value(parameters, 1);
    g_variant_lookup(changed, name, "b", &value);
    g_variant_unref(changed);
    return value;
}

/// The path that a signal of a session that comes or goes says second; NULL without one. Lives as long as the parameters.
static inline const char *passdir_bus_session_path(GVariant *parameters)
{
    const char *path = NULL;
    if (g_variant_is_of_type(parameters, G_VARIANT_TYPE("(so)"))) g_variant_get(parameters, "(&s&o)", NULL, &path);
    return path;
}

#endif

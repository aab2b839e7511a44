/// libsecret, as Swift imports it: the Secret Service of the desktop session over D-Bus.
#ifndef PASSDIR_CSECRET_SHIM_H
#define PASSDIR_CSECRET_SHIM_H

#include <libsecret/secret.h>

/// What our items are filed under. A static table: Swift cannot fill a C array of structures in place.
static inline const SecretSchema *passdir_secret_schema(void)
{
    static const SecretSchema schema = {
        "org.passdir.Credential",
        SECRET_SCHEMA_NONE,
        {
            { "store", SECRET_SCHEMA_ATTRIBUTE_STRING },
            { "kind", SECRET_SCHEMA_ATTRIBUTE_STRING },
            { "expires", SECRET_SCHEMA_ATTRIBUTE_STRING },
            { NULL, 0 },
        }
    };
    return &schema;
}

/// Attributes of an item; NULL leaves one out. Swift cannot pass g_str_hash and g_free as the C functions they are.
static inline GHashTable *passdir_secret_attributes(const char *store, const char *kind, const char *expires)
{
    GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    if (store) g_hash_table_insert(table, (gpointer)"store", g_strdup(store));
    if (kind) g_hash_table_insert(table, (gpointer)"kind", g_strdup(kind));
    if (expires) g_hash_table_insert(table, (gpointer)"expires", g_strdup(expires));
    return table;
}

/// An attribute of an item that a search found; NULL without it. The casts are macros. To be freed with g_free.
static inline char *passdir_secret_attribute(gpointer item, const char *name)
{
    GHashTable *table = secret_retrievable_get_attributes(SECRET_RETRIEVABLE(item));
    char *value = g_strdup((const char *)g_hash_table_lookup(table, name));
    g_hash_table_unref(table);
    return value;
}

/// When an item that a search found was last written, in seconds since 1970; 0 where that is not known. The cast is a macro.
static inline guint64 passdir_secret_modified(gpointer item)
{
    return secret_retrievable_get_modified(SECRET_RETRIEVABLE(item));
}

/// No service answers on the bus, there is no bus, or the service has no collection to keep an item in (gnome-keyring where
/// nobody ever logged in with a password): SECRET_ERROR, G_DBUS_ERROR and G_IO_ERROR are macros that call functions.
static inline int passdir_secret_is_absent(const GError *error)
{
    return g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SERVICE_UNKNOWN)
        || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NAME_HAS_NO_OWNER)
        || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_NO_SERVER)
        || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_DISCONNECTED)
        || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_SPAWN_SERVICE_NOT_FOUND)
        || g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED)
        || g_error_matches(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND)
        || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_OBJECT)
        || g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_UNKNOWN_METHOD)
        || g_error_matches(error, SECRET_ERROR, SECRET_ERROR_NO_SUCH_OBJECT);
}

#endif
